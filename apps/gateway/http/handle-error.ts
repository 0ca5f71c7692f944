import { maxHeaderSize, ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { API_ERRORS, ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { RETRY_AFTER_S, toRetryAfterS } from '../retry-after.ts'
import { drainBody } from './drain-body.ts'
import { isAnthropic, type ApiStyle } from './api-style.ts'
import { toMessagesError } from './messages-error.ts'
import { setRequestId } from './request-id.ts'
import type { RecordFailure } from './request-metrics.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The errors that the interface lists for the operation of a route. */
    errors?: readonly ApiErrorCode[]
    /** The field of the body that has the prompt. It is the `param` of the error for a prompt that is too long. */
    promptField?: string
    /** The conventions of the route's keys and errors; absent: our own. */
    style?: ApiStyle
  }
}

/** The interface's error object: the body of an answer, or the data of an event. */
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
  /** Whole seconds; null if the answer has no `retry-after`. */
  readonly retryAfterS: number | null
}

/** Turns any failure into the error that the caller may see, counts it, and logs its internal details. */
export type ReportError = (error: unknown, request: FastifyRequest) => PublicError

/** How long the rest of a refused upload is read before the connection is closed. */
const DRAIN_LIMIT_MS = 5_000

/**
 * Creates the function that reports failures. It logs unexpected failures as errors. It logs refusals that have a
 * cause, and failures of backends, as warnings.
 */
export function createReportError(options: {
  log: Logger
  recordFailure: RecordFailure
  /** Returns undefined if the request is not traced. */
  traceIdOf: (request: FastifyRequest) => string | undefined
  /** The size of the largest body, for the error message. */
  bodyBytes: number
}): ReportError {
  const { log, recordFailure, traceIdOf, bodyBytes } = options
  return (error, request) => {
    const failure = toApiError(error, request.routeOptions.bodyLimit ?? bodyBytes)
    const code = toCodeOfOperation(failure.code, request)
    recordFailure(request, code)
    const { status } = API_ERRORS[code]
    const fields = {
      requestId: request.id,
      traceId: traceIdOf(request),
      route: request.routeOptions.url,
      code,
      err: error,
    }
    if (failure !== error && status >= 500) log.error(fields, 'request failed')
    else if (failure.cause !== undefined || status === 502) log.warn(fields, 'request refused')
    return toPublicError(withPromptField(failure, request), code)
  }
}

/**
 * Answers every failure of a route with the error object, including the failures that Fastify itself finds in a route.
 * If the client has already closed the connection, the failure is neither answered nor reported. If the client is still
 * sending its body, the rest of the body is read first, for at most 5 s, so that the client receives the answer.
 */
export function installErrorHandler(app: FastifyInstance, reportError: ReportError): void {
  app.setErrorHandler(async (error, request, reply) => {
    if (reply.raw.closed) {
      reply.hijack()
      return
    }
    // The failure is reported before the upload is drained, so that the log has the time of the failure.
    const failure = reportError(error, request)
    if (!(await drainBody(request.raw, DRAIN_LIMIT_MS))) reply.header('connection', 'close')
    sendError(reply, failure, inStyle(failure, request))
  })
}

/** Answers a request that no route can take, such as one with a malformed percent-encoding. */
export function answerUnrouted(request: FastifyRequest, reply: FastifyReply): void {
  setRequestId(request, reply)
  const error = new ApiError('invalid_request', 'The path is malformed.')
  sendError(reply, toPublicError(error, error.code))
}

/**
 * Answers with the error object when Node's HTTP parser fails: for bytes that are not HTTP, a header that is too large,
 * or a request that arrives too slowly. A response that has begun is cut off instead.
 */
export function answerMalformed(
  error: Error,
  socket: Socket,
  { requestId, uploadMs }: { requestId: string; uploadMs: number },
): void {
  const response = '_httpMessage' in socket ? socket._httpMessage : null
  const begun = response instanceof ServerResponse && response.headersSent
  if (!socket.writable || begun) {
    socket.destroy()
    return
  }
  const code = 'code' in error ? error.code : ''
  const [status, message] =
    error instanceof UploadStalled
      ? [408, error.message]
      : code === 'HPE_HEADER_OVERFLOW'
        ? [431, HEADER_TOO_LARGE]
        : code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? [408, `The request must arrive whole within ${uploadMs / 1_000} s.`]
          : [400, 'The request is not HTTP.']
  const body = JSON.stringify(toPublicError(new ApiError('invalid_request', message), 'invalid_request').body)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\nx-request-id: ${requestId}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  // A client that neither reads nor closes the connection would keep it until the limit of idle connections.
  const timer = setTimeout(() => socket.destroy(), DRAIN_LIMIT_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** A request whose body arrives so slowly that its upload is ended. */
export class UploadStalled extends Error {
  constructor(bytesPerS: number) {
    super(`A body must arrive with at least ${bytesPerS} bytes per second.`)
  }
}

/** Both limits are the defaults of Node's parser. */
const HEADER_TOO_LARGE = `The header must not be larger than ${maxHeaderSize / 1_024} KiB or have more than 1,000 fields.`

function inStyle({ status, body }: PublicError, request: FastifyRequest): object {
  return isAnthropic(request) ? toMessagesError(body, { requestId: request.id, status }) : body
}

function sendError(reply: FastifyReply, failure: PublicError, body: object = failure.body): void {
  // RFC 9110, section 15.5.2, requires this header on every 401.
  if (failure.status === 401) reply.header('www-authenticate', 'Bearer')
  if (failure.retryAfterS !== null) reply.header('retry-after', String(failure.retryAfterS))
  void reply.code(failure.status).type('application/json; charset=utf-8').send(JSON.stringify(body))
}

function toPublicError(failure: ApiError, code: ApiErrorCode): PublicError {
  const { status, wireCode, retryAfter } = API_ERRORS[code]
  const { message, param } = failure
  return {
    status,
    body: {
      error: { message, type: 'api_error', code: wireCode, ...(param === undefined ? {} : { param }) },
    },
    retryAfterS: retryAfter ? toRetryAfterS(failure.retryAfterS ?? RETRY_AFTER_S.default) : null,
  }
}

/**
 * Returns `code`, or `model_unavailable` in place of an `upstream_error` that the request's operation does not list.
 * The interface lists `upstream_error` for some operations only.
 */
function toCodeOfOperation(code: ApiErrorCode, request: FastifyRequest): ApiErrorCode {
  const listed = request.routeOptions.config.errors?.includes('upstream_error') === true
  return code === 'upstream_error' && !listed ? 'model_unavailable' : code
}

/** If the error is that the prompt is too long, adds the name of the operation's prompt field. */
function withPromptField(failure: ApiError, request: FastifyRequest): ApiError {
  const { code, message, param = request.routeOptions.config.promptField } = failure
  return code === 'context_length_exceeded' && param !== undefined
    ? new ApiError(code, message, { param })
    : failure
}

/** The message of a `request_too_large`. */
export function toTooLargeMessage(bodyBytes: number): string {
  return `The body must not be larger than ${bodyBytes.toLocaleString('en')} bytes.`
}

function toApiError(error: unknown, bodyBytes: number): ApiError {
  if (error instanceof ApiError) return error
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 413) {
    return new ApiError('request_too_large', toTooLargeMessage(bodyBytes))
  }
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new ApiError('invalid_request', 'The request could not be read.')
  }
  return new ApiError('upstream_error', 'The request failed inside the service.', { cause: error })
}
