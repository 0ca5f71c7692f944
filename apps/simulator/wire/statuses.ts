import { status } from '@grpc/grpc-js'
import type { ServicerTraits } from '../servicer-version.ts'

/** The gRPC status of a call that fails. */
export type Status = { readonly code: status; readonly details: string }

/** The request breaks a rule of the engine. The message is vLLM's. */
export class InvalidRequest extends Error {
  /** The servicer's own refusals have the status INVALID_ARGUMENT in every version. */
  readonly by: 'engine' | 'servicer'
  /** The servicer in Rust does not check this rule, and the engine core dies of the request. */
  readonly isFatal: boolean

  constructor(
    message: string,
    options: ErrorOptions & { by?: 'engine' | 'servicer'; isFatal?: boolean } = {},
  ) {
    super(message, options)
    this.name = 'InvalidRequest'
    this.by = options.by ?? 'engine'
    this.isFatal = options.isFatal ?? false
  }
}

export const ENGINE_DEAD: Status = {
  code: status.INTERNAL,
  details: 'EngineCore encountered an issue. See stack trace (above) for the root cause.',
}

/** The status of a call that failed in a healthy engine. The servicer ends such a call without details. */
export const CALL_FAILED: Status = { code: status.INTERNAL, details: '' }

/** The engine listens, and is not loaded yet. */
export const STILL_LOADING: Status = { code: status.UNAVAILABLE, details: 'engine is still connecting' }

export const SHUT_DOWN: Status = { code: status.UNAVAILABLE, details: 'Cancelling all calls' }

/** The engine's own code failed on the request. The servicer ends such a call without details. */
export class UnexpectedFailure extends Error {
  constructor(options?: ErrorOptions) {
    super('the engine failed', options)
    this.name = 'UnexpectedFailure'
  }
}

/**
 * Maps an error to a status as the servicer does: a request that the engine refuses gets the code that this version of
 * the servicer uses (`refusesAs`), a request that the servicer itself refuses gets INVALID_ARGUMENT, and everything
 * else gets INTERNAL.
 */
export function toStatus(error: unknown, { refusesAs }: Pick<ServicerTraits, 'refusesAs'>): Status {
  if (error instanceof UnexpectedFailure) return CALL_FAILED
  const details = error instanceof Error ? error.message : String(error)
  if (!(error instanceof InvalidRequest)) return { code: status.INTERNAL, details }
  return { code: error.by === 'servicer' ? status.INVALID_ARGUMENT : status[refusesAs], details }
}

/** The status of a method that this version of the servicer does not have. */
export const UNKNOWN_METHOD: Status = { code: status.UNIMPLEMENTED, details: 'Method not found!' }
