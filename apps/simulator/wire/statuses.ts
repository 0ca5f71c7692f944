import { status } from '@grpc/grpc-js'

/** How a call ends when it does not end well. */
export type Status = { readonly code: status; readonly details: string }

/** The request breaks a rule of the engine. The message is vLLM's. */
export class InvalidRequest extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'InvalidRequest'
  }
}

export const ENGINE_DEAD: Status = {
  code: status.INTERNAL,
  details: 'EngineCore encountered an issue. See stack trace (above) for the root cause.',
}

/** One call's failure in an engine that lives on: what the servicer wraps has no details. */
export const CALL_FAILED: Status = { code: status.INTERNAL, details: '' }

export const SHUT_DOWN: Status = { code: status.UNAVAILABLE, details: 'Cancelling all calls' }

/** The servicer's mapping: what the caller did wrong is INVALID_ARGUMENT, everything else INTERNAL. */
export function toStatus(error: unknown): Status {
  const details = error instanceof Error ? error.message : String(error)
  return { code: error instanceof InvalidRequest ? status.INVALID_ARGUMENT : status.INTERNAL, details }
}
