import { createHash } from 'node:crypto'
import { Server, status, type ServerWritableStream } from '@grpc/grpc-js'
import { afterEach, describe, expect, it } from 'vitest'
import { bundleTokenizer } from '#apps/simulator/tokenizer-bundle.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { bindGrpc } from '#libs/grpc/serve-grpc.ts'
import { fetchModelFiles } from '#libs/model-files/fetch-model-files.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import type { GetTokenizerChunk } from '#proto/types/smg/grpc/common/GetTokenizerChunk.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'

type Call = ServerWritableStream<object, GetTokenizerChunk>

const bundle = await bundleTokenizer('models/tiny')
const sha256 = (data: Buffer) => createHash('sha256').update(data).digest('hex')

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.forceShutdown()
})

/** Starts a server with this GetTokenizer and returns its address. */
async function serve(answer: (call: Call) => void): Promise<string> {
  const { service } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine.VllmEngine
  const server = new Server()
  server.addService({ GetTokenizer: service.GetTokenizer }, { GetTokenizer: answer })
  servers.push(server)
  return `127.0.0.1:${await bindGrpc(server, '127.0.0.1:0')}`
}

function send(call: Call, data: Buffer, hash = sha256(data)): void {
  const half = data.length >> 1
  call.write({ data: data.subarray(0, half), sha256: '' })
  call.write({ data: data.subarray(half), sha256: hash })
  call.end()
}

describe('the files of an engine', () => {
  it('are those of its folder', async () => {
    const address = await serve((call) => send(call, bundle))
    expect(await fetchModelFiles(address)).toEqual(await readModelFolder('models/tiny'))
  })

  it('are refused when the hash differs or is missing', async () => {
    const wrong = await serve((call) => send(call, bundle, sha256(Buffer.from('other'))))
    await expect(fetchModelFiles(wrong)).rejects.toThrow(/SHA-256 of its archive is not the one it sent/)
    const missing = await serve((call) => send(call, bundle, ''))
    await expect(fetchModelFiles(missing)).rejects.toThrow(/SHA-256 of its archive is not the one it sent/)
  })

  it('are refused when the stream ends early or is empty', async () => {
    const cut = await serve((call) => {
      call.write({ data: bundle.subarray(0, 1_000), sha256: '' })
      call.end()
    })
    await expect(fetchModelFiles(cut)).rejects.toThrow(/SHA-256/)
    const empty = await serve((call) => call.end())
    await expect(fetchModelFiles(empty)).rejects.toThrow(/SHA-256/)
  })

  it('are bounded: beyond the limit the call is cancelled', async () => {
    const { promise: cancelled, resolve } = Promise.withResolvers<void>()
    const address = await serve((call) => {
      call.once('cancelled', resolve)
      const more = () => {
        while (call.write({ data: Buffer.alloc(65_536), sha256: '' }));
      }
      call.on('drain', more)
      more()
    })
    await expect(fetchModelFiles(address, { packedBytes: 1_000_000 })).rejects.toThrow(
      /more than 1000000 bytes/,
    )
    await cancelled
  })

  it('are awaited for a limited time', async () => {
    const address = await serve(() => {})
    await expect(fetchModelFiles(address, { timeoutMs: 100 })).rejects.toThrow(/DEADLINE_EXCEEDED/)
  })

  it('must have a tokenizer.json, and the reason of an engine without them is reported', async () => {
    const empty = Buffer.concat([Buffer.from([0x50, 0x4b, 0x05, 0x06]), Buffer.alloc(18)])
    const without = await serve((call) => send(call, empty))
    await expect(fetchModelFiles(without)).rejects.toThrow(/its archive has no tokenizer\.json/)
    const refuses = await serve((call) =>
      call.emit('error', { code: status.INTERNAL, details: 'Tokenizer directory not found' }),
    )
    await expect(fetchModelFiles(refuses)).rejects.toThrow(`${refuses} sent no usable model files`)
    await expect(fetchModelFiles(refuses)).rejects.toThrow(/directory not found/)
  })
})

it.for([
  [status.UNAVAILABLE, true],
  [status.DEADLINE_EXCEEDED, true],
  [status.INTERNAL, false],
  [status.UNIMPLEMENTED, false],
  [status.NOT_FOUND, false],
  [null, false],
] as const)('a failure with status %s is transient: %s', async ([code, isTransient]) => {
  const address = await serve((call) => {
    if (code === null) send(call, bundle, 'another')
    else call.emit('error', { code, details: 'x' })
  })
  await expect(fetchModelFiles(address)).rejects.toMatchObject({ name: 'ModelFetchError', isTransient })
})

it('leaves no connection behind', async () => {
  const address = await serve((call) => send(call, bundle))
  await fetchModelFiles(address)
  const [server] = servers.splice(0)
  // The server closes only when no client is connected.
  const closed = Promise.withResolvers<Error | undefined>()
  server?.tryShutdown(closed.resolve)
  expect(await closed.promise).toBeUndefined()
})
