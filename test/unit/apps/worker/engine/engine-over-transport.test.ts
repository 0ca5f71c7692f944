import { status } from '@grpc/grpc-js'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { EngineClient, EngineRequest } from '#apps/worker/engine/engine-client.ts'
import { createEngineOverTransport } from '#apps/worker/engine/engine-over-transport.ts'
import { createHttp2Transport } from '#apps/worker/engine/transport/http2-transport.ts'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { collectGeneration } from '#test/support/collect-generation.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'
import { replay, startEngineServer, type GenerateCall } from './engine-server.ts'
import { recording, recordings } from './recordings.ts'

const request: EngineRequest = {
  requestId: 'g-1',
  promptIds: Uint32Array.of(2001, 1141),
  sampling: { temperature: 0 },
  maxTokens: 100,
  endIds: [],
  stop: [],
  constraint: null,
  cacheSalt: null,
}

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

let createTransport: (options: { address: string }) => Transport = createHttp2Transport

async function connect(options: Parameters<typeof startEngineServer>[0]) {
  const server = await startEngineServer(options)
  const client = createEngineOverTransport(createTransport({ address: server.address }))
  closers.push(server.stop, client.close)
  return { server, client }
}

const collect = async (client: EngineClient, signal?: AbortSignal) =>
  await collectGeneration(client, request, signal === undefined ? {} : { signal })

const chunk = (...tokenIds: number[]) => ({ chunk: { tokenIds, promptTokens: 2 } })
const complete = { complete: { finishReason: 'stop', outputIds: [9], promptTokens: 2, completionTokens: 1 } }

const NEVER = new AbortController().signal

describe.each(Object.entries(TRANSPORTS))('over %s', (_, create) => {
  beforeAll(() => {
    createTransport = create
  })

  describe('a generation', () => {
    it.for(recordings.filter(({ status }) => status.number === 0))(
      '$name passes on each token once and ends with the counts of the whole call',
      async (recorded) => {
        const { client } = await connect({ generate: replay(recorded) })
        const { ids: collected, end } = await collect(client)
        const ids = recorded.frames.flatMap((frame) => frame.chunk?.tokenIds ?? [])
        const last = recorded.frames.at(-1)?.complete
        expect(collected).toEqual(ids)
        expect(end).toEqual({
          finishReason: last?.finishReason,
          matchedTokenId: last?.matchedTokenId ?? null,
          matchedStop: last?.matchedStopStr ?? null,
          promptTokens: last?.promptTokens,
          cachedTokens: last?.cachedTokens,
          completionTokens: ids.length,
        })
      },
    )

    it('takes a message of any size', async () => {
      const ids = Array.from({ length: 900_000 }, () => 2_000_000_000)
      const { client } = await connect({
        generate(call) {
          call.write(chunk(...ids.slice(0, 1)))
          call.write({ chunk: { tokenIds: ids } })
          call.write(complete)
          call.end()
        },
      })
      expect((await collect(client)).ids).toHaveLength(900_001)
    })
  })

  describe('an end by the consumer', () => {
    const endless = (call: GenerateCall) => call.write(chunk(1))

    it('that wants no more tokens cancels the call and aborts the request', async () => {
      const { client, server } = await connect({ generate: endless })
      const onTokens = vi.fn<() => boolean>(() => false)
      expect(await client.generate(request, { signal: NEVER, onTokens })).toBeNull()
      expect(onTokens).toHaveBeenCalledOnce()
      await expect.poll(() => server.seen).toMatchObject({ cancelled: 1, aborted: ['g-1'] })
    })

    it('that throws cancels the call, aborts the request and rejects with its error', async () => {
      const { client, server } = await connect({ generate: endless })
      const generated = client.generate(request, {
        signal: NEVER,
        onTokens() {
          throw new Error('not parsed')
        },
      })
      await expect(generated).rejects.toThrow('not parsed')
      await expect.poll(() => server.seen).toMatchObject({ cancelled: 1, aborted: ['g-1'] })
    })

    it('that aborts the signal ends it without an error, also between tokens', async () => {
      const { client, server } = await connect({ generate: endless })
      const controller = new AbortController()
      const onTokens = vi.fn<() => boolean>(() => {
        setImmediate(() => controller.abort())
        return true
      })
      expect(await client.generate(request, { signal: controller.signal, onTokens })).toBeNull()
      expect(onTokens).toHaveBeenCalledOnce()
      await expect.poll(() => server.seen).toMatchObject({ cancelled: 1, aborted: ['g-1'] })
    })

    it('before the beginning sends nothing', async () => {
      const { client, server } = await connect({ generate: endless })
      expect(await collect(client, AbortSignal.abort())).toEqual({ ids: [], end: null })
      await client.healthCheck()
      expect(server.seen).toEqual({ requests: [], aborted: [], cancelled: 0 })
    })

    it('after the end of the generation does nothing', async () => {
      const { client, server } = await connect({
        generate: replay(recording('generate-stream-length (0.32.0)')),
      })
      const controller = new AbortController()
      await collect(client, controller.signal)
      controller.abort()
      await client.healthCheck()
      expect(server.seen).toMatchObject({ aborted: [], cancelled: 0 })
    })
  })

  describe('a failure', () => {
    const fail = (name: string, healthy = true) =>
      connect({ generate: replay(recording(name)), healthy: () => healthy })

    it('of validation is the fault of the request, in the words of the engine', async () => {
      const { client } = await fail('error-id-equals-vocab (0.32.0)')
      await expect(collect(client)).rejects.toMatchObject({
        kind: 'refused',
        message: 'Token id 2048 is out of vocabulary',
      })
    })

    it('INTERNAL before the first token is the fault of the request while the engine is healthy', async () => {
      const { client } = await fail('error-bad-structural-tag (0.26.0)')
      await expect(collect(client)).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringMatching(/refused the request: INTERNAL/),
      })
    })

    it('INTERNAL of an unhealthy engine is its death, and the tokens before it are not lost', async () => {
      const { client } = await fail('sigkill-engine-core-stream (0.32.0)', false)
      const ids: number[] = []
      await expect(collectGeneration(client, request, { ids })).rejects.toMatchObject({ kind: 'dead' })
      expect(ids).toEqual(
        recording('sigkill-engine-core-stream (0.32.0)').frames.flatMap(
          (frame) => frame.chunk?.tokenIds ?? [],
        ),
      )
    })

    it('INTERNAL of an engine that turns unhealthy a moment later is its death', async () => {
      const health = [true, false]
      const { client } = await connect({
        generate: replay(recording('error-bad-structural-tag (0.26.0)')),
        healthy: () => health.shift() ?? false,
      })
      await expect(collect(client)).rejects.toMatchObject({ kind: 'dead' })
    })

    it.each(['error-bad-structural-tag (0.26.0)', 'sigkill-engine-core-stream (0.32.0)'])(
      'INTERNAL of an engine that was started again before it is asked says unavailable: %s',
      async (name) => {
        const server = await startEngineServer({ generate: replay(recording(name)) })
        const transport = createTransport({ address: server.address })
        closers.push(transport.close)
        const restart = async () => {
          server.stop()
          const next = await startEngineServer({ address: server.address })
          closers.push(next.stop)
        }
        let restarted: Promise<void> | null = null
        const unary: Transport['unary'] = async (...call) => {
          restarted ??= restart()
          await restarted
          await expect.poll(async () => await transport.unary(...call).catch(() => null)).not.toBeNull()
          return await transport.unary(...call)
        }
        await expect(collect(createEngineOverTransport({ ...transport, unary }))).rejects.toMatchObject({
          kind: 'unavailable',
        })
        expect(restarted).not.toBeNull()
      },
    )

    it('INTERNAL after tokens is never the fault of the request', async () => {
      const { client } = await fail('sigkill-engine-core-stream (0.32.0)')
      await expect(collect(client)).rejects.toMatchObject({ kind: 'failed' })
    })

    it('of a draining engine, or of one that is not there, says unavailable', async () => {
      const { client, server } = await fail('sigterm-long0 (0.26.0)')
      await expect(collect(client)).rejects.toMatchObject({ kind: 'unavailable' })
      server.stop()
      await expect(collect(client)).rejects.toMatchObject({ kind: 'unavailable' })
      await expect(client.healthCheck()).rejects.toMatchObject({ kind: 'unavailable' })
    })

    it('of a stream that ends without being complete says unavailable', async () => {
      const { client } = await connect({
        generate(call) {
          call.write(chunk(1))
          call.end()
        },
      })
      await expect(collect(client)).rejects.toMatchObject({ kind: 'unavailable' })
    })

    it('of the request itself is reported without asking the engine', async () => {
      const { client, server } = await connect({})
      const wrong = { ...request, sampling: { topP: 0 } }
      await expect(collectGeneration(client, wrong)).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringMatching(/^top_p/),
      })
      expect(server.seen.requests).toEqual([])
    })
  })

  describe('the other calls', () => {
    it('embed, with the vector as 32-bit floats', async () => {
      const { client } = await connect({
        unary: { Embed: { reply: { embedding: [0.5, -0.25], promptTokens: 3, embeddingDim: 2 } } },
      })
      const request = { requestId: 'e-1', promptIds: Uint32Array.of(1, 2, 3) }
      expect(await client.embed(request, NEVER)).toEqual({
        embedding: Float32Array.of(0.5, -0.25),
        promptTokens: 3,
      })
    })

    it.each([Number.NaN, Infinity, -Infinity])('fail where a vector has the value %s', async (value) => {
      const { client } = await connect({
        unary: { Embed: { reply: { embedding: [0.5, value], promptTokens: 3, embeddingDim: 2 } } },
      })
      const request = { requestId: 'e-1', promptIds: Uint32Array.of(1, 2, 3) }
      await expect(client.embed(request, NEVER)).rejects.toMatchObject({ kind: 'failed' })
    })

    it('refuse an empty input, and pass on the refusal of the engine', async () => {
      const details = 'This model does not support embeddings'
      const { client } = await connect({ unary: { Embed: { code: status.INVALID_ARGUMENT, details } } })
      const embed = (...ids: number[]) =>
        client.embed({ requestId: 'e-1', promptIds: Uint32Array.from(ids) }, NEVER)
      await expect(embed()).rejects.toMatchObject({ kind: 'refused' })
      await expect(embed(1)).rejects.toMatchObject({ kind: 'refused', message: details })
    })

    it('cancel an embedding whose signal is aborted, and begin none after that', async () => {
      const leaving = new AbortController()
      let calls = 0
      const onCall = () => {
        calls += 1
        leaving.abort()
      }
      const { client, server } = await connect({ unary: { Embed: { onCall } } })
      const request = { requestId: 'e-1', promptIds: Uint32Array.of(1) }
      await expect(client.embed(request, leaving.signal)).rejects.toMatchObject({ kind: 'unavailable' })
      await expect.poll(() => server.seen.cancelled).toBe(1)
      await expect(client.embed(request, leaving.signal)).rejects.toMatchObject({ kind: 'unavailable' })
      expect(calls).toBe(1)
    })

    it.each([
      [{ maxNumSeqs: 8, constrainedDecodingStart: 'first_token' }, 8, 'first-token', 'python'],
      [{ maxNumSeqs: 8, constrainedDecodingStart: 'after_reasoning' }, 8, 'after-reasoning', 'python'],
      [{ maxNumSeqs: 8, serverType: 'vllm-grpc' }, 8, null, 'rust'],
      [{}, null, null, 'older-python'],
    ])('report what the server states, null where an old servicer omits it: %j', async (...row) => {
      const [reply, maxNumSeqs, constraintStart, servicer] = row
      const { client } = await connect({ unary: { GetServerInfo: { reply } } })
      expect(await client.getServerInfo()).toEqual({ maxNumSeqs, constraintStart, servicer })
    })

    it('report health and the model', async () => {
      const { client } = await connect({
        unary: { GetModelInfo: { reply: { maxContextLength: 8, vocabSize: 2_010, isGeneration: true } } },
      })
      expect(await client.healthCheck()).toEqual({ healthy: true, message: 'Health' })
      expect(await client.getModelInfo()).toEqual({
        maxContextLength: 8,
        isGeneration: true,
        vocabularySize: 2_010,
      })
    })

    it('and from then on no id beyond the vocabulary, and no longer prompt, is sent', async () => {
      const { server, client } = await connect({
        unary: { GetModelInfo: { reply: { maxContextLength: 8, vocabSize: 2_001 } } },
      })
      await client.getModelInfo()
      await expect(collect(client)).rejects.toThrow('Token id 2001 is out of vocabulary')
      const embed = async (promptIds: Uint32Array) => await client.embed({ requestId: 'e', promptIds }, NEVER)
      await expect(embed(Uint32Array.of(2_001))).rejects.toThrow('Token id 2001 is out of vocabulary')
      await expect(embed(new Uint32Array(9))).rejects.toThrow('longer than the maximum model length of 8')
      expect(server.seen.requests).toEqual([])
    })
  })
})
