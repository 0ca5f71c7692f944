import { z } from 'zod'

/**
 * The versions of vLLM and of its gRPC servicer, as one name. The first and the last pair are recorded in
 * test/fixtures/engine; of the middle pair only the status codes of refusals are recorded. The servicer of the middle
 * pair does not know the exceptions of the newer vLLM, so it ends invalid requests with INTERNAL. `rust` is the request
 * path of servicer 0.14.0 with smg 1.13.0, of which the differences named in `ServicerTraits` were seen.
 */
export const ServicerVersion = z.enum(['0.26.0+0.8.0', '0.32.0+0.8.0', '0.32.0+0.14.1', '0.32.0+0.14.0-rust'])
export type ServicerVersion = z.infer<typeof ServicerVersion>

/** How the versions differ for a client. */
export type ServicerTraits = {
  readonly vllmVersion: '0.26.0' | '0.32.0'
  /**
   * True for the newer servicer. It reports the engine's capacity in GetLoads and GetServerInfo, has the calls
   * FlushCache, StartProfile and StopProfile, and salts the prefix cache by the hashes of media.
   */
  readonly isNewServicer: boolean
  /** The status of a request that the engine refuses. */
  readonly refusesAs: 'INVALID_ARGUMENT' | 'INTERNAL'
  /**
   * True for the servicer in Rust. Its counts are of the tokens of a call, not of a chunk, and its last message repeats all
   * ids. It loses the step in which a prompt with log probabilities is computed, and does not check everything of which
   * the engine core dies.
   */
  readonly isRust: boolean
}

export function traitsOf(version: ServicerVersion): ServicerTraits {
  return TRAITS[version]
}

const NEWEST = {
  vllmVersion: '0.32.0',
  isNewServicer: true,
  refusesAs: 'INVALID_ARGUMENT',
  isRust: false,
} as const

const TRAITS: Readonly<Record<ServicerVersion, ServicerTraits>> = {
  '0.26.0+0.8.0': { ...NEWEST, vllmVersion: '0.26.0', isNewServicer: false },
  '0.32.0+0.8.0': { ...NEWEST, isNewServicer: false, refusesAs: 'INTERNAL' },
  '0.32.0+0.14.1': NEWEST,
  '0.32.0+0.14.0-rust': { ...NEWEST, isRust: true },
}
