/**
 * The error table of the public interface: code → HTTP status, and whether it may carry `retry-after`.
 * Source: the interface's section "Errors"; `invalid_request` is our code for every 400 and 413.
 */
export const API_ERRORS = {
  invalid_request: { status: 400, retryAfter: false },
  request_too_large: { status: 413, retryAfter: false },
  invalid_key: { status: 401, retryAfter: false },
  insufficient_credits: { status: 402, retryAfter: false },
  model_not_found: { status: 404, retryAfter: false },
  model_busy: { status: 429, retryAfter: true },
  model_warming: { status: 429, retryAfter: true },
  upstream_error: { status: 502, retryAfter: false },
  model_unavailable: { status: 503, retryAfter: true },
} as const

export type ApiErrorCode = keyof typeof API_ERRORS

/**
 * A failure that the caller of the public interface is told about.
 * `message` is public; what must stay inside goes into `cause`, which is logged and never sent.
 */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  readonly param: string | undefined
  readonly retryAfterS: number | undefined

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
  }
}
