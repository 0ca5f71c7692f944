import { z } from 'zod'

/**
 * The versions of vLLM and of its gRPC servicer, as one name. The first and the last pair are recorded in
 * test/fixtures/engine; of the middle pair only the status codes of refusals are recorded. The servicer of the middle
 * pair does not know the exceptions of the newer vLLM, so it ends invalid requests with INTERNAL.
 */
export const ServicerVersion = z.enum(['0.26.0+0.8.0', '0.32.0+0.8.0', '0.32.0+0.14.1'])
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
}

export function traitsOf(version: ServicerVersion): ServicerTraits {
  return TRAITS[version]
}

const TRAITS: Readonly<Record<ServicerVersion, ServicerTraits>> = {
  '0.26.0+0.8.0': { vllmVersion: '0.26.0', isNewServicer: false, refusesAs: 'INVALID_ARGUMENT' },
  '0.32.0+0.8.0': { vllmVersion: '0.32.0', isNewServicer: false, refusesAs: 'INTERNAL' },
  '0.32.0+0.14.1': { vllmVersion: '0.32.0', isNewServicer: true, refusesAs: 'INVALID_ARGUMENT' },
}
