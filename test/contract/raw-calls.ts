import { status as codes } from '@grpc/grpc-js'
import { isCallFailure, type CallFailure } from '#apps/worker/engine/transport/call-failure.ts'
import type { Method, StreamCall, Transport } from '#apps/worker/engine/transport/transport.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { GenerateResponse__Output } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import { asDeltas, fromWire } from './structure.ts'

/** The engine's calls with their wire messages, sent over one of the worker's own transports. */
export const { service } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine

export type Ending = { readonly code: string; readonly details: string }

export type RawStream<Message> = StreamCall & {
  /** Called for each message when it arrives. It is not called before the stream is returned. */
  onMessage: (message: Message, count: number) => void
  readonly messages: readonly Message[]
  readonly ended: Promise<Ending>
}

export function openStream<Request, Message>(
  transport: Transport,
  method: Method<Request, Message>,
  { request, timeoutMs }: { request: Request; timeoutMs?: number },
): RawStream<Message> {
  const { promise: ended, resolve } = Promise.withResolvers<Ending>()
  const messages: Message[] = []
  const call = transport.serverStream(method, request, {
    ...(timeoutMs !== undefined && { timeoutMs }),
    onMessage(message) {
      messages.push(message)
      stream.onMessage(message, messages.length)
    },
    onEnd: (failure) => resolve(failure === null ? { code: 'OK', details: '' } : toEnding(failure)),
  })
  const stream: RawStream<Message> = { ...call, onMessage() {}, messages, ended }
  return stream
}

/** Starts a Generate call. The request has the recording's snake_case names. */
export function callGenerate(
  transport: Transport,
  request: object,
  options: { timeoutMs?: number } = {},
): RawStream<GenerateResponse__Output> {
  return openStream(transport, service.Generate, { request: toMessage(request), ...options })
}

/** Reads a stream to its end. */
export async function collect<Message>(
  stream: RawStream<Message>,
  onMessage: (message: Message, count: number) => void = () => {},
): Promise<{ messages: readonly Message[]; ending: Ending }> {
  stream.onMessage = onMessage
  return { ending: await stream.ended, messages: stream.messages }
}

/** Returns the reply of a unary call, or its failure. */
export async function reply<Request, Response>(
  transport: Transport,
  method: Method<Request, Response>,
  request: Request,
): Promise<{ response: Response | null; ending: Ending }> {
  try {
    const response = await transport.unary(method, request, { timeoutMs: 10_000 })
    return { response, ending: { code: 'OK', details: '' } }
  } catch (error) {
    if (!isCallFailure(error)) throw error
    return { response: null, ending: toEnding(error) }
  }
}

function toEnding({ code, details }: CallFailure): Ending {
  return { code: codes[code] ?? String(code), details }
}

/** Converts snake_case names to camelCase. Keys of maps are not changed: they are ids, which have no underscore. */
export function toMessage(request: object): object {
  const camel = (name: string) => name.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase())
  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [camel(key), convert(member)]))
  }
  return Object(convert(request))
}

export function toResponses({
  messages,
  ending,
}: Awaited<ReturnType<typeof collect<GenerateResponse__Output>>>) {
  return { responses: asDeltas(messages.map(fromWire)), ending }
}
