import { status } from '@grpc/grpc-js'
import { callFailure } from './call-failure.ts'
import { openHttp2Call } from './http2-call.ts'
import { createHttp2Connection } from './http2-connection.ts'
import { toFramed } from './message-splitter.ts'
import { MAX_MESSAGE_BYTES, type Method, type StreamCall, type Transport } from './transport.ts'

/**
 * Creates a transport that uses node's HTTP/2 alone, without grpc-js. A message costs less than half of the CPU time
 * that it costs with grpc-js. Connects to `address` (`host:port`) on the first call.
 */
export function createHttp2Transport({ address }: { readonly address: string }): Transport {
  const connection = createHttp2Connection(address)

  const serverStream: Transport['serverStream'] = (method, request, options) => {
    const { timeoutMs, onMessage, onEnd } = options
    const framed = toRequest(method, request)
    if (framed instanceof Error) {
      queueMicrotask(() => onEnd(callFailure(status.INTERNAL, framed.message, framed)))
      return ENDED
    }
    return openHttp2Call(connection, {
      authority: address,
      path: method.path,
      request: framed,
      timeoutMs,
      listener: {
        onMessage: (bytes) => onMessage(method.responseDeserialize(bytes)),
        onEnd,
      },
    })
  }

  return {
    serverStream,
    async unary<Request, Response>(
      method: Method<Request, Response>,
      request: Request,
      { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
    ) {
      signal?.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<Response>()
      const answers: Response[] = []
      const call = serverStream(method, request, {
        timeoutMs,
        onMessage: (message: Response) => answers.push(message),
        onEnd(failure) {
          const [answer, ...more] = answers
          if (failure !== null) reject(failure)
          else if (answer === undefined) reject(callFailure(status.UNIMPLEMENTED, 'no answer came'))
          else if (more.length > 0) reject(callFailure(status.UNIMPLEMENTED, 'several answers came'))
          else resolve(answer)
        },
      })
      signal?.addEventListener('abort', call.cancel)
      try {
        return await promise
      } finally {
        signal?.removeEventListener('abort', call.cancel)
      }
    },
    connections: connection.opened,
    close: connection.close,
  }
}

const ENDED: StreamCall = { pause() {}, resume() {}, cancel() {} }

function toRequest<Request>(
  { requestSerialize }: Method<Request, unknown>,
  request: Request,
): Buffer | Error {
  try {
    return toFramed(requestSerialize(request), MAX_MESSAGE_BYTES)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
