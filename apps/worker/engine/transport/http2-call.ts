import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { callFailure, cancelled, type CallFailure } from './call-failure.ts'
import { fromHttpStatus, fromReset, noStatus, readStatus, type CallStatus } from './call-status.ts'
import type { Http2Connection } from './http2-connection.ts'
import { createMessageSplitter, FramingError } from './message-splitter.ts'
import { MAX_MESSAGE_BYTES, type StreamCall, type StreamListener } from './transport.ts'

/**
 * Opens one call of `path` with one framed request. States: *waiting* for a connection, *open*, *over*. If the server
 * has certainly not processed a stream (it was refused, or its id is above the last id of a GOAWAY), the call goes back
 * to *waiting*, once. The listener is not called before this function returns.
 */
export function openHttp2Call(
  connection: Http2Connection,
  call: {
    readonly authority: string
    readonly path: string
    readonly request: Buffer
    readonly timeoutMs: number | undefined
    readonly listener: StreamListener<Buffer>
  },
): StreamCall {
  const { listener, timeoutMs } = call
  const deadlineMs = timeoutMs === undefined ? null : performance.now() + timeoutMs
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => abort(callFailure(status.DEADLINE_EXCEEDED, `no end within ${timeoutMs} ms`)),
          timeoutMs,
        )
  let stream: ClientHttp2Stream | null = null
  let paused = false
  let over = false
  let tried = false

  function end(failure: CallFailure | null): void {
    if (over) return
    over = true
    clearTimeout(timer)
    listener.onEnd(failure)
  }

  /** Ends the call from this side. */
  function abort(failure: CallFailure): void {
    if (over) return
    stream?.close(constants.NGHTTP2_CANCEL)
    end(failure)
  }

  function wait(): void {
    connection.use({
      onSession(session) {
        if (over) return
        try {
          stream = session.request(headersOf(call, deadlineMs))
        } catch (cause) {
          end(callFailure(status.UNAVAILABLE, 'the connection takes no more calls', cause))
          return
        }
        read(stream, session)
        if (paused) stream.pause()
        stream.end(call.request)
      },
      onFailure: end,
    })
  }

  function read(opened: ClientHttp2Stream, session: ClientHttp2Session): void {
    const splitter = createMessageSplitter(MAX_MESSAGE_BYTES)
    let callStatus: CallStatus | null = null
    let cause: Error | null = null
    const onMessage = (message: Buffer) => {
      if (!over) listener.onMessage(message)
    }

    opened.on('response', (headers, flags) => {
      const isLast = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      if (isLast) callStatus = readStatus(headers)
      if (callStatus !== null) return
      if (headers[':status'] !== 200) abort(fromHttpStatus(headers[':status']))
      else if (isLast) callStatus = noStatus()
    })
    opened.on('trailers', (headers) => {
      callStatus = readStatus(headers) ?? noStatus()
    })
    opened.on('data', (bytes: Buffer) => {
      if (over) return
      try {
        splitter.push(bytes, onMessage)
      } catch (error) {
        abort(toReadFailure(error))
      }
    })
    opened.on('error', (error) => (cause = error))
    // 'close' comes after all data, also on a paused stream. The trailers, which contain the status, may arrive long
    // before 'close'. If the connection is lost between the trailers and 'close', the data that was not read yet is
    // lost. So a status of OK counts only if all data was read.
    opened.on('close', () => {
      // The session's Map keeps ended streams alive for a while (see `ShortLivedMap`). The listeners are removed,
      // because they would keep further objects alive.
      opened.removeAllListeners()
      opened.on('error', ignore)
      if (over) return
      if (callStatus !== null && (callStatus.failure !== null || opened.readableEnded)) {
        const isCut = callStatus.failure === null && !splitter.isBetweenMessages()
        end(isCut ? callFailure(status.INTERNAL, 'the last message is cut short') : callStatus.failure)
      } else if (opened.rstCode === constants.NGHTTP2_REFUSED_STREAM && !tried) {
        tried = true
        wait()
      } else if (session.destroyed) {
        end(callFailure(status.UNAVAILABLE, 'the connection was lost', cause ?? undefined))
      } else {
        end(fromReset(opened.rstCode, cause))
      }
    })
  }

  queueMicrotask(wait)
  return {
    pause() {
      paused = true
      stream?.pause()
    },
    resume() {
      paused = false
      stream?.resume()
    },
    cancel: () => abort(cancelled()),
  }
}

function headersOf({ authority, path }: { authority: string; path: string }, deadlineMs: number | null) {
  return {
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_SCHEME]: 'http',
    [constants.HTTP2_HEADER_AUTHORITY]: authority,
    [constants.HTTP2_HEADER_PATH]: path,
    te: 'trailers',
    'content-type': 'application/grpc',
    'user-agent': 'millrace',
    ...(deadlineMs !== null && { 'grpc-timeout': toTimeout(deadlineMs - performance.now()) }),
  }
}

const ignore = () => {}

/** gRPC allows eight digits: a hundred million milliseconds are more than a day. */
function toTimeout(ms: number): string {
  return `${Math.min(Math.max(Math.ceil(ms), 1), 99_999_999)}m`
}

function toReadFailure(error: unknown): CallFailure {
  if (error instanceof FramingError) {
    const code = error.reason === 'too-long' ? status.RESOURCE_EXHAUSTED : status.INTERNAL
    return callFailure(code, error.message, error)
  }
  const reason = error instanceof Error ? error.message : String(error)
  return callFailure(status.INTERNAL, `the answer cannot be read: ${reason}`, error)
}
