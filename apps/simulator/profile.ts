import { z } from 'zod'

/**
 * Which pair of vLLM and servicer an engine is, as far as callers can tell them apart. The first and the last are
 * recorded in test/fixtures/engine. Of the one between, the codes of refusals were seen: newer engines raise errors
 * that the older servicer does not know, so what is the caller's fault is INTERNAL.
 */
export const Profile = z.enum(['0.26.0+0.8.0', '0.32.0+0.8.0', '0.32.0+0.14.1'])
export type Profile = z.infer<typeof Profile>

export type ProfileTraits = {
  readonly vllmVersion: '0.26.0' | '0.32.0'
  /** GetLoads and GetServerInfo tell what the engine can hold; there are FlushCache and the profiler's calls. */
  readonly isNewServicer: boolean
  /** How a request ends that the engine refuses. */
  readonly refusesAs: 'INVALID_ARGUMENT' | 'INTERNAL'
}

export function traitsOf(profile: Profile): ProfileTraits {
  return TRAITS[profile]
}

const TRAITS: Readonly<Record<Profile, ProfileTraits>> = {
  '0.26.0+0.8.0': { vllmVersion: '0.26.0', isNewServicer: false, refusesAs: 'INVALID_ARGUMENT' },
  '0.32.0+0.8.0': { vllmVersion: '0.32.0', isNewServicer: false, refusesAs: 'INTERNAL' },
  '0.32.0+0.14.1': { vllmVersion: '0.32.0', isNewServicer: true, refusesAs: 'INVALID_ARGUMENT' },
}
