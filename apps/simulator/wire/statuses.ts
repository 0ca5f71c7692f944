import { status } from '@grpc/grpc-js'
import type { ProfileTraits } from '../profile.ts'

/** How a call ends when it does not end well. */
export type Status = { readonly code: status; readonly details: string }

/** The request breaks a rule of the engine. The message is vLLM's. */
export class InvalidRequest extends Error {
  /** The servicer knows its own refusals in every profile. */
  readonly by: 'engine' | 'servicer'

  constructor(message: string, options: ErrorOptions & { by?: 'engine' | 'servicer' } = {}) {
    super(message, options)
    this.name = 'InvalidRequest'
    this.by = options.by ?? 'engine'
  }
}

export const ENGINE_DEAD: Status = {
  code: status.INTERNAL,
  details: 'EngineCore encountered an issue. See stack trace (above) for the root cause.',
}

/** One call's failure in an engine that lives on: what the servicer wraps has no details. */
export const CALL_FAILED: Status = { code: status.INTERNAL, details: '' }

export const SHUT_DOWN: Status = { code: status.UNAVAILABLE, details: 'Cancelling all calls' }

/** The engine's own code failed on the request. The servicer wraps that without a word. */
export class UnexpectedFailure extends Error {
  constructor(options?: ErrorOptions) {
    super('the engine failed', options)
    this.name = 'UnexpectedFailure'
  }
}

/** The servicer's mapping: what the caller did wrong is what the profile says, everything else INTERNAL. */
export function toStatus(error: unknown, { refusesAs }: Pick<ProfileTraits, 'refusesAs'>): Status {
  if (error instanceof UnexpectedFailure) return CALL_FAILED
  const details = error instanceof Error ? error.message : String(error)
  if (!(error instanceof InvalidRequest)) return { code: status.INTERNAL, details }
  return { code: error.by === 'servicer' ? status.INVALID_ARGUMENT : status[refusesAs], details }
}

/** A call that came after this servicer was released. */
export const UNKNOWN_METHOD: Status = { code: status.UNIMPLEMENTED, details: 'Method not found!' }
