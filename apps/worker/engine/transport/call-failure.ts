import { status } from '@grpc/grpc-js'

/** How a call failed: a gRPC status code other than OK, and the server's message, or our own. */
export type CallFailure = Error & { readonly code: status; readonly details: string }

const QUOTING: ReadonlySet<status> = new Set([status.INVALID_ARGUMENT, status.INTERNAL, status.UNKNOWN])

class CallError extends Error {
  readonly code: status
  readonly details: string
  /** With these codes the engine answers what a request made it fail with, so no log has the message. */
  readonly quotesRequest: boolean

  constructor(code: status, details: string, cause?: unknown) {
    super(`${code} ${status[code]}: ${details}`, cause === undefined ? undefined : { cause })
    this.name = 'CallError'
    this.code = code
    this.details = details
    this.quotesRequest = QUOTING.has(code)
  }
}

export function callFailure(code: status, details: string, cause?: unknown): CallFailure {
  return new CallError(code, details, cause)
}

export function cancelled(): CallFailure {
  return new CallError(status.CANCELLED, 'Cancelled on client')
}

export function isCallFailure(error: unknown): error is CallFailure {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'number' &&
    'details' in error &&
    typeof error.details === 'string'
  )
}
