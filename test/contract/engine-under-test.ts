import { credentials, status as codes, type ServiceError } from '@grpc/grpc-js'
import type { CallOptions, ChannelOptions, ClientReadableStream, StatusObject } from '@grpc/grpc-js'
import { EngineConfig } from '#apps/simulator/config.ts'
import { startEngine, type Engine } from '#apps/simulator/engine.ts'
import { loadModel, type Model } from '#apps/simulator/model.ts'
import { callUnary } from '#libs/grpc/call-unary.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import type { GenerateResponse__Output } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import type { VllmEngineClient } from '#proto/types/vllm/grpc/engine/VllmEngine.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'

export type EngineUnderTest = {
  readonly engine: Engine
  readonly client: VllmEngineClient
  readonly model: Model
  /** Opens another connection to the same engine. */
  connect(options?: ChannelOptions): VllmEngineClient
  close(): Promise<void>
}

/** The limits of the recorded engine; steps short enough for tests and long enough to act between them. */
const RECORDED = {
  listen: '127.0.0.1:0',
  model: './tiny',
  family: 'demo',
  maxModelLen: 2_048,
  maxNumSeqs: 8,
  blockSize: 128,
  kvBlocks: 8_192,
  maxNumBatchedTokens: 4_096,
  stepMs: 1,
  sequenceMs: 0,
  prefillTokensPerS: 1_000_000,
}

export async function startEngineUnderTest(
  overrides: Partial<Record<keyof EngineConfig, unknown>> = {},
): Promise<EngineUnderTest> {
  const config = EngineConfig.parse({ ...RECORDED, ...overrides })
  const model = await loadModel('models', config.family)
  const engine = await startEngine({ config, model, log: createLogger('simulator', 'silent') })
  const address = engine.address() ?? ''
  const clients: VllmEngineClient[] = []
  const connect = (options: ChannelOptions = {}) => {
    const Client = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine
    const client = new Client(address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 100,
      ...options,
    })
    clients.push(client)
    return client
  }
  return {
    engine,
    model,
    client: connect(),
    connect,
    async close() {
      for (const client of clients) client.close()
      await engine.stop(0)
    },
  }
}

export type Ending = { readonly code: string; readonly details: string }

/** Reads a stream to its end. `onMessage` sees each message as it arrives. */
export async function collect<Message>(
  call: ClientReadableStream<Message>,
  onMessage: (message: Message, count: number) => void = () => {},
): Promise<{ messages: Message[]; ending: Ending }> {
  const messages: Message[] = []
  const { promise, resolve } = Promise.withResolvers<Ending>()
  call.on('data', (message: Message) => {
    messages.push(message)
    onMessage(message, messages.length)
  })
  call.on('error', () => {})
  call.on('status', (status: StatusObject) => resolve(toEnding(status)))
  return { ending: await promise, messages }
}

/** A Generate call. The request has the recording's snake_case names. */
export function callGenerate(
  client: VllmEngineClient,
  request: object,
  options: Partial<CallOptions> = {},
): ClientReadableStream<GenerateResponse__Output> {
  return client.generate(toMessage(request), options)
}

/** A unary call's reply, or how it failed. */
export async function reply<Request, Response>(
  method: Parameters<typeof callUnary<Request, Response>>[0],
  request: Request,
): Promise<{ response: Response | null; ending: Ending }> {
  try {
    const response = await callUnary(method, request, { timeoutMs: 10_000 })
    return { response, ending: { code: 'OK', details: '' } }
  } catch (error) {
    if (!isServiceError(error)) throw error
    return { response: null, ending: toEnding(error) }
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error
}

function toEnding({ code, details }: { code: codes; details: string }): Ending {
  // grpc-js words the end of a good call itself.
  return { code: codes[code] ?? String(code), details: code === codes.OK ? '' : details }
}

/** snake_case names to those of our options; the keys of maps are ids, which have no underscore. */
export function toMessage(request: object): object {
  const camel = (name: string) => name.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase())
  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [camel(key), convert(member)]))
  }
  return Object(convert(request))
}
