import { status } from '@grpc/grpc-js'

/** The failure of a call: a gRPC status code other than OK, and the server's message or our own. */
export type CallFailure = Error & { readonly code: status; readonly details: string }

const QUOTING: ReadonlySet<status> = new Set([status.INVALID_ARGUMENT, status.INTERNAL, status.UNKNOWN])

class CallError extends Error {
  readonly code: status
  readonly details: string
  /** True for codes of failures that a request caused: the message may quote the request, so it is not logged. */
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
