import { Client, connectivityState, credentials } from '@grpc/grpc-js'
import { cancelled, type CallFailure } from '#apps/worker/engine/transport/call-failure.ts'
import {
  MAX_MESSAGE_BYTES,
  RECONNECT_PAUSE_MS,
  type Transport,
} from '#apps/worker/engine/transport/transport.ts'
import { callUnary } from '#libs/grpc/call-unary.ts'

/**
 * Makes the channel behave as the worker's own transport: no keepalive pings, quick reconnects, no proxy, no retries,
 * and a separate connection that `close` closes.
 */
const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  'grpc.initial_reconnect_backoff_ms': RECONNECT_PAUSE_MS.first,
  'grpc.max_reconnect_backoff_ms': RECONNECT_PAUSE_MS.longest,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
} as const

/**
 * Creates a `Transport` on grpc-js, the reference with which tests and benchmarks compare the worker's own transport on
 * `node:http2`. Connects to `address` (`host:port`) on the first call.
 */
export function createGrpcJsTransport({ address }: { readonly address: string }): Transport {
  const client = new Client(address, credentials.createInsecure(), CHANNEL_OPTIONS)
  const channel = client.getChannel()
  let connections = 0
  const watch = (state: connectivityState) => {
    if (state === connectivityState.SHUTDOWN) return
    channel.watchConnectivityState(state, Infinity, () => {
      const next = channel.getConnectivityState(false)
      if (next === connectivityState.READY) connections += 1
      watch(next)
    })
  }
  watch(channel.getConnectivityState(false))
  return {
    unary: async ({ path, requestSerialize, responseDeserialize }, request, options) =>
      await callUnary(
        (message: typeof request, callOptions, callback) =>
          client.makeUnaryRequest(
            path,
            requestSerialize,
            responseDeserialize,
            message,
            callOptions,
            callback,
          ),
        request,
        options,
      ),
    serverStream({ path, requestSerialize, responseDeserialize }, request, options) {
      const { timeoutMs, onMessage, onEnd } = options
      const stream = client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
      )
      let failure: CallFailure | null = null
      let over = false
      const end = (ending: CallFailure | null) => {
        if (over) return
        over = true
        onEnd(ending)
      }
      stream.on('data', (message) => {
        if (!over) onMessage(message)
      })
      // grpc-js emits `error` before it has delivered all messages; `end` comes after the last message.
      stream.on('error', (error: CallFailure) => (failure = error))
      stream.on('end', () => end(failure))
      return {
        pause: () => stream.pause(),
        resume: () => stream.resume(),
        cancel() {
          stream.cancel()
          end(cancelled())
        },
      }
    },
    connections: () => connections,
    close: () => client.close(),
  }
}
