import type { EventEmitter } from 'node:events'
import { Server, type UntypedServiceImplementation, type ServerWritableStream } from '@grpc/grpc-js'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { bindGrpc } from '#libs/grpc/serve-grpc.ts'
import type { GenerateRequest__Output } from '#proto/types/vllm/grpc/engine/GenerateRequest.ts'
import type { GenerateResponse } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import type { Recording } from './recordings.ts'

export type GenerateCall = ServerWritableStream<GenerateRequest__Output, GenerateResponse>

/** Starts a real gRPC server for vLLM's protocol; the test defines its answers. */
export async function startEngineServer(options: {
  /** `host:port`; a free port if absent. */
  address?: string
  generate?: (call: GenerateCall) => void
  healthy?: () => boolean
  /** The message of an engine that is not healthy. */
  problem?: string
  /** An entry with only `onCall` never answers. */
  unary?: Record<string, { code: number; details: string } | { reply: object } | { onCall: () => void }>
}) {
  const { service } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine
  const seen = { requests: new Array<GenerateRequest__Output>(), aborted: new Array<string>(), cancelled: 0 }

  const implementation: UntypedServiceImplementation = {
    Generate(call: GenerateCall) {
      seen.requests.push(call.request)
      call.on('cancelled', () => {
        // grpc-js emits this event at every end of a call.
        if (!call.writableEnded) seen.cancelled += 1
      })
      options.generate?.(call)
    },
    HealthCheck(_call: unknown, callback: (error: null, reply: object) => void) {
      const healthy = options.healthy?.() ?? true
      callback(null, { healthy, message: healthy ? 'Health' : (options.problem ?? 'Engine is not alive') })
    },
    Abort(call: { request: { requestIds: string[] } }, callback: (error: null, reply: object) => void) {
      seen.aborted.push(...call.request.requestIds)
      callback(null, {})
    },
  }
  for (const [method, answer] of Object.entries(options.unary ?? {})) {
    implementation[method] = (
      call: EventEmitter,
      callback: (error: object | null, reply?: object) => void,
    ) => {
      if ('reply' in answer) callback(null, answer.reply)
      else if ('code' in answer) callback(answer)
      else {
        call.on('cancelled', () => (seen.cancelled += 1))
        answer.onCall()
      }
    }
  }
  const server = new Server({ 'grpc.max_send_message_length': -1 })
  server.addService(service, implementation)
  const port = await bindGrpc(server, options.address ?? '127.0.0.1:0')
  return { address: `127.0.0.1:${port}`, seen, stop: () => server.forceShutdown() }
}

/** Plays a recording: its frames at once, then its status. */
export function replay(recording: Recording): (call: GenerateCall) => void {
  return (call) => {
    for (const frame of recording.frames) call.write(frame)
    const { number: code, details } = recording.status
    if (code === 0) call.end()
    else call.emit('error', { code, details })
  }
}
