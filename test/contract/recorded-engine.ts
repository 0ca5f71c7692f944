import { Server, status as codes, type UntypedServiceImplementation } from '@grpc/grpc-js'
import { HEALTH_SERVICE } from '#apps/simulator/wire/health-service.ts'
import { bindGrpc, UNLIMITED_MESSAGES } from '#libs/grpc/serve-grpc.ts'
import { service, toMessage } from './raw-calls.ts'
import type { Recording } from './recordings.ts'

export type RecordedEngine = {
  readonly address: string
  /** Answers every call from now on with this recording. */
  play(recording: Recording): void
  stop(): void
}

type Call = { write(message: object): void; end(): void; emit(event: 'error', failure: object): void }
type Reply = (failure: object | null, message?: object) => void

/** A gRPC server that answers every call with the responses and the status of a recording. */
export async function startRecordedEngine(): Promise<RecordedEngine> {
  let playing: Recording | null = null

  function current(): Recording {
    if (playing === null) throw new Error('no recording is played')
    return playing
  }

  function stream(call: Call): void {
    for (const { type, body } of current().responses) call.write(toWire(type, body))
    const failure = failureOf(current())
    if (failure === null) call.end()
    else call.emit('error', failure)
  }

  function unary(_call: unknown, reply: Reply): void {
    const failure = failureOf(current())
    if (failure === null) reply(null, toMessage(current().responses[0]?.body ?? {}))
    else reply(failure)
  }

  const implementation: UntypedServiceImplementation = {}
  for (const [name, { responseStream }] of Object.entries(service)) {
    implementation[name] = responseStream ? stream : unary
  }
  const server = new Server(UNLIMITED_MESSAGES)
  server.addService(service, implementation)
  server.addService(HEALTH_SERVICE, {
    Check: (_call: unknown, reply: Reply) => {
      const failure = failureOf(current())
      if (failure === null) reply(null, SERVING)
      else reply(failure)
    },
    Watch(call: Call) {
      for (let response = 0; response < current().responses.length; response += 1) call.write(SERVING)
      call.emit('error', failureOf(current()) ?? { code: codes.OK })
    },
  })
  const port = await bindGrpc(server, '127.0.0.1:0')
  return {
    address: `127.0.0.1:${port}`,
    play: (recording) => (playing = recording),
    stop: () => server.forceShutdown(),
  }
}

/** SERVING in protobuf: field 1 has the value 1. */
const SERVING = Buffer.from([0x08, 0x01])

function toWire(type: string | undefined, body: object = {}): object {
  if (type === 'chunk') return { chunk: toMessage(body) }
  if (type === 'complete') return { complete: toMessage(body) }
  return toMessage(body)
}

function failureOf({ status }: Recording): { code: number; details: string } | null {
  return status.number === 0 ? null : { code: status.number, details: status.details }
}
