import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createEngineOverTransport } from '#apps/worker/engine/engine-over-transport.ts'
import { EngineError } from '#apps/worker/engine/engine-error.ts'
import type { EngineClient, EngineRequest } from '#apps/worker/engine/engine-client.ts'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { collectGeneration } from '#test/support/collect-generation.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'
import { untilIdle } from './engine-state.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { createHostileRequests } from './hostile-requests.ts'
import { callGenerate, collect } from './raw-calls.ts'
import { engineAddress, LIVE_TARGETS } from './targets.ts'
import { WHO_ARE_YOU } from './who-are-you.ts'

/** What one caller does to the streams of the others, on an engine as its worker uses it. */

const STREAM: EngineRequest = {
  requestId: 'stream',
  promptIds: WHO_ARE_YOU,
  sampling: { temperature: 0 },
  maxTokens: 800,
  ignoreEos: true,
  endIds: [],
  stop: [],
  constraint: null,
  cacheSalt: null,
}
/** The prompt is long, so that its step has many log probabilities. */
const ASKING: EngineRequest = {
  ...STREAM,
  requestId: 'asking',
  promptIds: Uint32Array.from({ length: 200 }, (_, i) => 5 + i),
  maxTokens: 4,
  topLogprobs: 1,
  promptLogprobs: 1,
}
const HOSTILE_REQUESTS = 200

describe.each(LIVE_TARGETS)('$name', (target) => {
  let under: EngineUnderTest | null = null
  let raw: Transport
  let client: EngineClient

  beforeEach(async () => {
    const { kind, servicerVersion, transport } = target
    if (kind === 'simulator') under = await startEngineUnderTest({ servicerVersion }, { transport })
    const address = under?.engine.address() ?? engineAddress()
    raw = TRANSPORTS[transport]({ address })
    client = createEngineOverTransport(TRANSPORTS[transport]({ address }))
    await client.getModelInfo()
    await untilIdle(raw)
  })

  afterEach(async () => {
    client.close()
    raw.close()
    await under?.close()
    under = null
  })

  test('a stream beside others that ask for prompt log probabilities has all its tokens, equal to its run alone', async () => {
    const alone = await collectGeneration(client, STREAM)
    const askers: Promise<unknown>[] = []
    const ids: number[] = []
    await client.generate(STREAM, {
      signal: new AbortController().signal,
      onTokens(tokens) {
        ids.push(...tokens.ids)
        if (askers.length < 6) {
          const requestId = `asking-${askers.length}`
          askers.push(
            collectGeneration(client, { ...ASKING, requestId }).then(({ end }) => end?.completionTokens),
          )
        }
        return true
      },
    })
    expect(await Promise.all(askers)).toEqual([4, 4, 4, 4, 4, 4])
    expect(ids).toHaveLength(STREAM.maxTokens)
    expect(ids).toEqual(alone.ids)
  })

  test(`${HOSTILE_REQUESTS} hostile requests leave it healthy, and each has an answer or a refusal`, async () => {
    const { maxContextLength: window, vocabularySize: vocabulary } = await client.getModelInfo()
    const next = createHostileRequests(48, { window, vocabulary })
    const ends: string[] = []
    for (let count = 0; count < HOSTILE_REQUESTS; count += 1) {
      const options = { signal: AbortSignal.timeout(10_000), onTokens: () => false }
      const end = client.generate(next(), options).then(() => 'answered')
      ends.push(
        await end.catch((error: unknown) => (error instanceof EngineError ? error.kind : String(error))),
      )
    }
    expect(await client.healthCheck()).toMatchObject({ healthy: true })
    expect(new Set(ends)).toEqual(new Set(['answered', 'refused']))
    for (const end of ['answered', 'refused']) {
      expect(ends.filter((each) => each === end).length).toBeGreaterThan(HOSTILE_REQUESTS / 5)
    }
  })

  test('counts tokens as its kind of servicer does', async () => {
    const request = { stream: true, tokenized: { input_ids: [5, 6, 7] } }
    const sampling_params = { max_tokens: 3, ignore_eos: true }
    const { messages } = await collect(
      callGenerate(raw, { ...request, request_id: 'counts', sampling_params }),
    )
    const counts = messages.flatMap(({ chunk }) => (chunk ? [chunk.completionTokens] : []))
    expect(counts).toEqual(target.isRust ? [1, 2, 3] : [1, 1, 1])
  })
})

describe.runIf(LIVE_TARGETS.some(({ kind }) => kind === 'simulator'))(
  'the simulated servicer in Rust',
  () => {
    test('loses tokens beside prompt log probabilities, and its client notices each loss', async () => {
      const under = await startEngineUnderTest({ servicerVersion: '0.32.0+0.14.0-rust' })
      const client = createEngineOverTransport(under.client)
      await client.getModelInfo()
      const kinds: string[] = []
      const note = (error: unknown) => kinds.push(error instanceof EngineError ? error.kind : String(error))
      let asker: Promise<unknown> | undefined
      const stream = client.generate(STREAM, {
        signal: new AbortController().signal,
        onTokens() {
          asker ??= collectGeneration(client, ASKING).catch(note)
          return true
        },
      })
      await stream.catch(note)
      await asker
      expect(kinds).toEqual(['gap', 'damaged'])
      await under.close()
    })

    test.for<[string, object]>([
      ['an empty prompt', { tokenized: { input_ids: [] } }],
      ['an id of the prompt beyond the vocabulary', { tokenized: { input_ids: [2_048] } }],
      [
        'a prompt as long as the context',
        { tokenized: { input_ids: Array.from({ length: 2_048 }, () => 5) } },
      ],
      ['an id of logit_bias beyond the vocabulary', { sampling_params: { logit_bias: { 2048: 1 } } }],
      [
        'a stop id beyond the vocabulary',
        { sampling_params: { stop_token_ids: [2_048], min_tokens: 2, max_tokens: 3 } },
      ],
      ['a temperature above 2', { sampling_params: { temperature: 3 } }],
    ])('dies of %s', async ([, change]) => {
      const under = await startEngineUnderTest({ servicerVersion: '0.32.0+0.14.0-rust' })
      const harmless = { request_id: 'x', stream: true, tokenized: { input_ids: [5] } }
      const { ending } = await collect(callGenerate(under.client, { ...harmless, ...change }))
      expect(ending.code).toBe('INTERNAL')
      expect(under.engine.core().alive()).toBe(false)
      await under.close()
    })
  },
)
