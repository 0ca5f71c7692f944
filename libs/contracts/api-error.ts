/**
 * The error table of the public interface. For each of our codes it has the HTTP status, the code on the wire, and
 * whether the answer has `retry-after`. Source: section "Errors" of the interface that Millrace implements.
 *
 * That section names no code for the statuses 400, 409 and 413, nor for an unknown path, generation or key: all of
 * these have the code `invalid_request`. The one exception is a prompt that does not fit the context window, because
 * clients recognize it by its own code.
 */
export const API_ERRORS = {
  invalid_request: { status: 400, wireCode: 'invalid_request', retryAfter: false },
  context_length_exceeded: { status: 400, wireCode: 'context_length_exceeded', retryAfter: false },
  request_too_large: { status: 413, wireCode: 'invalid_request', retryAfter: false },
  unknown_operation: { status: 404, wireCode: 'invalid_request', retryAfter: false },
  invalid_key: { status: 401, wireCode: 'invalid_key', retryAfter: false },
  wrong_key: { status: 403, wireCode: 'wrong_key', retryAfter: false },
  insufficient_credits: { status: 402, wireCode: 'insufficient_credits', retryAfter: false },
  model_not_found: { status: 404, wireCode: 'model_not_found', retryAfter: false },
  generation_not_found: { status: 404, wireCode: 'invalid_request', retryAfter: false },
  key_not_found: { status: 404, wireCode: 'invalid_request', retryAfter: false },
  key_conflict: { status: 409, wireCode: 'invalid_request', retryAfter: false },
  model_busy: { status: 429, wireCode: 'model_busy', retryAfter: true },
  model_warming: { status: 429, wireCode: 'model_warming', retryAfter: true },
  upstream_error: { status: 502, wireCode: 'upstream_error', retryAfter: false },
  model_unavailable: { status: 503, wireCode: 'model_unavailable', retryAfter: true },
} as const

export type ApiErrorCode = keyof typeof API_ERRORS

/**
 * A failure that is reported to the caller of the public interface. `message` is public; internal details go into
 * `cause`, which is logged and never sent.
 */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  readonly param: string | undefined
  /** Seconds; the gateway rounds and bounds them. */
  readonly retryAfterS: number | undefined
  /** True if the message may quote the request. Such a message is not logged; the log has the code alone. */
  readonly quotesRequest: boolean

  constructor(
    code: ApiErrorCode,
    message: string,
    details: { param?: string; retryAfterS?: number; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'ApiError'
    this.code = code
    this.param = details.param
    this.retryAfterS = details.retryAfterS
    this.quotesRequest = code === 'invalid_request'
  }
}
