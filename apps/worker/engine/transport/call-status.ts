import { constants, type IncomingHttpHeaders } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { callFailure, type CallFailure } from './call-failure.ts'

/** The status that a server ended a call with; `failure` is null for OK. */
export type CallStatus = { readonly failure: CallFailure | null }

/** Reads the status from trailers, or from the headers of an answer without a body; null if they have none. */
export function readStatus(headers: IncomingHttpHeaders): CallStatus | null {
  const text = headers['grpc-status']
  if (typeof text !== 'string' || !/^\d{1,3}$/.test(text)) return null
  const code = Number(text)
  if (code === 0) return { failure: null }
  const message = headers['grpc-message']
  const details = typeof message === 'string' ? decodePercents(message) : ''
  return { failure: callFailure(isStatus(code) ? code : status.UNKNOWN, details) }
}

function isStatus(code: number): code is status {
  return code in status
}

/** The status of a call whose trailers have none. */
export function noStatus(): CallStatus {
  return { failure: callFailure(status.UNKNOWN, 'the server sent no status') }
}

/**
 * Decodes percent escapes, and then reads all bytes as UTF-8. Node reads headers as Latin-1, so each byte that is not
 * escaped is one character of `text`. Source: "Percent-Encoded" in gRPC over HTTP2.
 */
function decodePercents(text: string): string {
  const bytes = text.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** The failure for an answer that is not gRPC, from a proxy or another server. Source: "HTTP to gRPC status codes". */
export function fromHttpStatus(httpStatus: number | undefined): CallFailure {
  const details = `the server answered HTTP ${httpStatus ?? 'without a status'}`
  return callFailure(HTTP_STATUSES.get(httpStatus ?? 0) ?? status.UNKNOWN, details)
}

const HTTP_STATUSES: ReadonlyMap<number, status> = new Map([
  [400, status.INTERNAL],
  [401, status.UNAUTHENTICATED],
  [403, status.PERMISSION_DENIED],
  [404, status.UNIMPLEMENTED],
  [429, status.UNAVAILABLE],
  [502, status.UNAVAILABLE],
  [503, status.UNAVAILABLE],
  [504, status.UNAVAILABLE],
])

/**
 * Returns the failure for a stream that was closed without a status, on a connection that is still open. `cause` is
 * node's own error, if there was one. Source: "Errors" in gRPC over HTTP2.
 */
export function fromReset(code: number | undefined, cause: Error | null): CallFailure {
  const details = `the server ended the call without a status, reset code ${code ?? 'unknown'}`
  return callFailure(RESETS.get(code ?? -1) ?? status.INTERNAL, details, cause ?? undefined)
}

const RESETS: ReadonlyMap<number, status> = new Map([
  [constants.NGHTTP2_REFUSED_STREAM, status.UNAVAILABLE],
  [constants.NGHTTP2_CANCEL, status.CANCELLED],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, status.RESOURCE_EXHAUSTED],
  [constants.NGHTTP2_INADEQUATE_SECURITY, status.PERMISSION_DENIED],
])
