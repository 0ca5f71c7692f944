import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { EngineClient, EngineRequest } from '#apps/worker/engine/engine-client.ts'
import { createEngineOverTransport } from '#apps/worker/engine/engine-over-transport.ts'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { casesOf } from './cases.ts'
import { collectGeneration } from '#test/support/collect-generation.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { loadOf, untilIdle, untilLoad } from './engine-state.ts'
import { startRecordedEngine, type RecordedEngine } from './recorded-engine.ts'
import type { Recording } from './recordings.ts'
import { fromRecording } from './structure.ts'
import { engineAddress, LIVE_TARGETS, TARGETS } from './targets.ts'
import { WHO_ARE_YOU } from './who-are-you.ts'

const NEVER = new AbortController().signal

/** The ids of models/tiny that are no special tokens. */
const tokenizerIds = Array.from({ length: 2_000 }, (_, id) => id)
const tokenizer = await loadTokenizer('models/tiny')

const request: EngineRequest = {
  requestId: 'client',
  promptIds: WHO_ARE_YOU,
  sampling: { temperature: 0 },
  maxTokens: 12,
  endIds: [],
  stop: [],
  constraint: null,
  cacheSalt: null,
}

const collect = async (client: EngineClient, asked = request) => await collectGeneration(client, asked)

const RECORDED_TARGETS = TARGETS.filter(({ kind }) => kind === 'recordings')

describe
  .runIf(RECORDED_TARGETS.length > 0)
  .each(RECORDED_TARGETS.map((target) => [target.name, target] as const))(
  'the engine client on %s',
  (_, { servicerVersion, transport }) => {
    const cases = [...casesOf(servicerVersion, 'wire'), ...casesOf(servicerVersion, 'scenarios')].filter(
      ([, recording]) => isOneStream(recording),
    )
    let engine: RecordedEngine
    let client: EngineClient
    beforeAll(async () => {
      engine = await startRecordedEngine()
      client = createEngineOverTransport(TRANSPORTS[transport]({ address: engine.address }))
    })
    afterAll(() => {
      client.close()
      engine.stop()
    })

    test('there are cases', () => {
      expect(cases.length).toBeGreaterThan(100)
    })

    test.each(cases.filter(([, { status }]) => status.number === 0))(
      '%s: each token once, and the counts of the whole call',
      async (_, recording) => {
        engine.play(recording)
        const responses = recording.responses.map(fromRecording)
        const ids = responses.flatMap(({ type, ids: given }) => (type === 'chunk' ? given : []))
        const last = responses.at(-1)
        expect(await collect(client)).toEqual({
          ids,
          end: {
            finishReason: last?.finishReason,
            matchedTokenId: last?.matchedTokenId,
            matchedStop: last?.matchedStop,
            promptTokens: last?.promptTokens,
            cachedTokens: last?.cachedTokens,
            completionTokens: ids.length,
          },
        })
      },
    )

    test.each(cases.filter(([, { status }]) => status.number !== 0))(
      '%s: whose fault it is',
      async (_, recording) => {
        engine.play(recording)
        const { code } = recording.status
        const kind = code === 'INVALID_ARGUMENT' ? 'refused' : 'unavailable'
        // The server of the recording gives the same answer to a health check, where INTERNAL does not count as an
        // answer.
        await expect(collect(client)).rejects.toMatchObject({ name: 'EngineError', kind })
      },
    )
  },
)

describe.each(LIVE_TARGETS.map((target) => [target.name, target] as const))(
  'the engine client on %s',
  (_, target) => {
    let under: EngineUnderTest | null = null
    let raw: Transport
    let client: EngineClient

    beforeEach(async () => {
      const create = TRANSPORTS[target.transport]
      if (target.kind === 'simulator') {
        under = await startEngineUnderTest(
          { servicerVersion: target.servicerVersion },
          { transport: target.transport },
        )
      }
      const address = under?.engine.address() ?? engineAddress()
      raw = create({ address })
      client = createEngineOverTransport(create({ address }))
      await untilIdle(raw)
    })

    afterEach(async () => {
      client.close()
      raw.close()
      await under?.close()
    })

    test('generates up to a limit', async () => {
      const { ids, end } = await collect(client, {
        ...request,
        sampling: { temperature: 0, logitBias: { 2002: -100 } },
        maxTokens: 5,
      })
      expect(end).toMatchObject({ promptTokens: 17, cachedTokens: 0 })
      expect(end).toMatchObject({ completionTokens: ids.length, finishReason: 'length' })
      expect(ids).toHaveLength(5)
    })

    test.for([
      ['of the request', 1454],
      ['of its own that the request names too', 2002],
    ] as const)('ends with an end token %s, and hands it over', async ([, endId]) => {
      const sampling = { temperature: 0, logitBias: { [endId]: 100 } }
      const { ids, end } = await collect(client, { ...request, sampling, endIds: [endId] })
      expect(end).toMatchObject({ finishReason: 'stop', completionTokens: 1 })
      expect(ids).toEqual([endId])
    })

    test('writes JSON that fits a schema', async () => {
      const schema = {
        type: 'object',
        properties: { a: { enum: ['x'] } },
        required: ['a'],
        additionalProperties: false,
      }
      // A grammar of JSON allows blanks everywhere, and a model with random weights writes them for ever.
      const blanks = tokenizerIds.filter((id) => tokenizer.decode([id]).trim() === '')
      const { ids, end } = await collect(client, {
        ...request,
        sampling: { temperature: 0, logitBias: Object.fromEntries(blanks.map((id) => [id, -100])) },
        maxTokens: 400,
        constraint: { type: 'answer', schema },
      })
      expect(end).toMatchObject({ finishReason: 'stop', completionTokens: ids.length })
      expect(ids.length).toBeGreaterThan(3)
    })

    test('reports a refusal with the message of the engine', async () => {
      const promptIds = Uint32Array.of(2_048)
      // An engine behind the servicer in Rust dies of this id, so the client must refuse it, in the same words.
      if (target.isRust) await client.getModelInfo()
      await expect(collect(client, { ...request, promptIds })).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('out of vocabulary'),
      })
    })

    test('frees the engine when a generation is left', async () => {
      const leaving = new AbortController()
      const endless = { ...request, maxTokens: 1_900, sampling: { logitBias: { 2000: -100, 2002: -100 } } }
      const left = await client.generate(endless, {
        signal: leaving.signal,
        onTokens() {
          leaving.abort()
          return true
        },
      })
      expect(left).toBeNull()
      await untilLoad(raw, (load) => load.numTotalReqs === 0)
      expect((await loadOf(raw)).numRunningReqs).toBe(0)
    })

    test('cannot embed with a model that chats', async () => {
      const promptIds = Uint32Array.of(1, 2, 3)
      await expect(client.embed({ requestId: 'e', promptIds }, NEVER)).rejects.toMatchObject({
        kind: 'refused',
      })
    })

    test('reports health, the context and the limits that the servicer knows', async () => {
      const isNew = target.servicerVersion === '0.32.0+0.14.1'
      expect(await client.healthCheck()).toEqual({ healthy: true, message: 'Health' })
      expect(await client.getModelInfo()).toEqual({
        maxContextLength: 2_048,
        isGeneration: true,
        vocabularySize: 2_048,
      })
      expect(await client.getServerInfo()).toEqual({
        maxNumSeqs: isNew ? 8 : null,
        servicer: target.isRust ? 'rust' : isNew ? 'python' : 'older-python',
        constraintStart: isNew ? 'first-token' : null,
      })
    })

    test('reports the load that the servicer knows', async () => {
      const isNew = target.servicerVersion === '0.32.0+0.14.1'
      const { kvCapacityTokens, ...load } = await client.getLoads()
      const [version = ''] = target.servicerVersion.split('+')
      expect(load).toEqual({ running: 0, waiting: 0, kvUsage: 0, kvUsedTokens: isNew ? 0 : null, version })
      expect(kvCapacityTokens !== null && kvCapacityTokens > 0).toBe(isNew)
    })
  },
)

/** Returns whether a recording is complete, and its request is like our client's: streamed, with one choice. */
function isOneStream({ request: asked, method, responses, status }: Recording): boolean {
  const { n } = Object(asked?.['sampling_params'])
  const whole = responses.every(({ type }) => type === 'chunk' || type === 'complete')
  // Excluded: calls that the client ended, and files with the responses of two calls.
  const own = status.code === 'CANCELLED' || status.code === 'DEADLINE_EXCEEDED'
  const completes = responses.filter(({ type }) => type === 'complete').length
  const one = asked?.['stream'] === true && (n === undefined || n === 1) && completes <= 1
  return method === 'Generate' && one && whole && !own
}
