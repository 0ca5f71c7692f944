import { maxHeaderSize, ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { API_ERRORS, ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { drainBody } from './drain-body.ts'
import { tellRequestId } from './request-id.ts'
import type { NoteFailure } from './request-metrics.ts'

/** The error object of the interface, ready to be sent as a body or as a frame of a stream. */
export const ErrorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.literal('api_error'),
    code: z.enum(Object.values(API_ERRORS).map(({ wireCode }) => wireCode)),
    param: z.string().optional().meta({ description: 'The field of the request that is wrong.' }),
  }),
})
export type ErrorBody = z.infer<typeof ErrorBody>

type PublicError = {
  readonly status: number
  readonly body: ErrorBody
  /** Whole seconds, 1 to 59; null where the interface promises none. */
  readonly retryAfterS: number | null
}

/** Turns any failure into what the caller may see; counts it, and logs what must stay inside. */
export type ReportError = (error: unknown, request: FastifyRequest) => PublicError

/** The operations whose own list of errors has 502; a failed backend of any other is a 503. */
const OPERATIONS_WITH_502 = new Set(['/v1/chat/completions', '/v1/completions'])

/** When a failure does not say when to come back. */
const RETRY_AFTER_S = 5

/** How long a refused upload may go on before the connection is closed on it. */
const DRAIN_LIMIT_MS = 5_000

/** Unforeseen failures of ours are logged as errors; refusals with a cause and failed backends as warnings. */
export function createReportError(options: {
  log: Logger
  noteFailure: NoteFailure
  /** The longest body that is read. */
  bodyBytes: number
}): ReportError {
  const { log, noteFailure, bodyBytes } = options
  return (error, request) => {
    const failure = toApiError(error, bodyBytes)
    const code = toCodeOfOperation(failure.code, request)
    noteFailure(request, code)
    const { status } = API_ERRORS[code]
    const fields = { requestId: request.id, route: request.routeOptions.url, code, err: error }
    if (failure !== error && status >= 500) log.error(fields, 'request failed')
    else if (failure.cause !== undefined || status === 502) log.warn(fields, 'request refused')
    return toPublicError(failure, code)
  }
}

/**
 * Answers every failure of a route, of Fastify and of the HTTP parser with the error object. A client that is
 * gone is no error. A client that is still uploading is read to its end first, so that it sees the answer.
 */
export function installErrorHandler(app: FastifyInstance, reportError: ReportError): void {
  app.setErrorHandler(async (error, request, reply) => {
    if (reply.raw.closed) {
      reply.hijack()
      return
    }
    // Reported before the upload is drained: the time of a failure is when it happened.
    const failure = reportError(error, request)
    if (!(await drainBody(request.raw, DRAIN_LIMIT_MS))) reply.header('connection', 'close')
    sendError(reply, failure)
  })
}

/** Fastify's answer to a request that never reached a route, such as one with a malformed percent-encoding. */
export function answerUnrouted(request: FastifyRequest, reply: FastifyReply): void {
  tellRequestId(request, reply)
  const error = new ApiError('invalid_request', 'The path is malformed.')
  sendError(reply, toPublicError(error, error.code))
}

/**
 * Answers what is not even HTTP, or too slow or too large in its header, with the error object; never into a
 * response that has begun.
 */
export function answerMalformed(
  error: Error,
  socket: Socket,
  { requestId, uploadMs }: { requestId: string; uploadMs: number },
): void {
  const busy = '_httpMessage' in socket ? socket._httpMessage : null
  const begun = busy instanceof ServerResponse && busy.headersSent
  if (!socket.writable || begun) {
    socket.destroy()
    return
  }
  const code = 'code' in error ? error.code : ''
  const [status, message] =
    code === 'HPE_HEADER_OVERFLOW'
      ? [431, HEADER_TOO_LARGE]
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, `The request must arrive whole within ${uploadMs / 1_000} s.`]
        : [400, 'The request is not HTTP.']
  const body = JSON.stringify(toPublicError(new ApiError('invalid_request', message), 'invalid_request').body)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\nx-request-id: ${requestId}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** Both are the defaults of Node's parser. */
const HEADER_TOO_LARGE = `The header must not be larger than ${maxHeaderSize / 1_024} KiB or have more than 1,000 fields.`

function sendError(reply: FastifyReply, failure: PublicError): void {
  // RFC 9110, section 15.5.2, wants it on every 401.
  if (failure.status === 401) reply.header('www-authenticate', 'Bearer')
  if (failure.retryAfterS !== null) reply.header('retry-after', String(failure.retryAfterS))
  void reply.code(failure.status).type('application/json; charset=utf-8').send(JSON.stringify(failure.body))
}

function toPublicError(failure: ApiError, code: ApiErrorCode): PublicError {
  const { status, wireCode, retryAfter } = API_ERRORS[code]
  const { message, param } = failure
  return {
    status,
    body: {
      error: { message, type: 'api_error', code: wireCode, ...(param === undefined ? {} : { param }) },
    },
    retryAfterS: retryAfter ? toRetryAfterS(failure.retryAfterS ?? RETRY_AFTER_S) : null,
  }
}

/** Clients mishandle a minute and more, and fractions: a longer truth is said as 59. */
function toRetryAfterS(seconds: number): number {
  return Math.min(59, Math.max(1, Math.ceil(seconds)))
}

function toCodeOfOperation(code: ApiErrorCode, request: FastifyRequest): ApiErrorCode {
  const has502 = OPERATIONS_WITH_502.has(request.routeOptions.url ?? '')
  return code === 'upstream_error' && !has502 ? 'model_unavailable' : code
}

function toApiError(error: unknown, bodyBytes: number): ApiError {
  if (error instanceof ApiError) return error
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 413) {
    const most = bodyBytes.toLocaleString('en')
    return new ApiError('request_too_large', `The body must not be larger than ${most} bytes.`)
  }
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new ApiError('invalid_request', 'The request could not be read.')
  }
  return new ApiError('upstream_error', 'The request failed inside the service.', { cause: error })
}
