import { expect, test } from 'vitest'
import { EngineError } from '#apps/worker/engine/engine-error.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { CLAIMED, declined, END, processUnderTest, tokens, type Given } from '../process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')

const idsOf = async (text: string) => Array.from(await tokenizer.encode(text))

const process = async (given: Given = {}) => await processUnderTest(tokenizer, given)

const GRAMMAR = { type: 'answer', schema: {} } as const

test.each([
  [
    'a grammar allows no first token',
    { reason: 'error', constraint: GRAMMAR, ids: [], failures: 0 },
    { type: 'generation-error', code: 'invalid_request', isCharged: true },
  ],
  [
    'a grammar allows no token after some output',
    { reason: 'error', constraint: GRAMMAR, ids: [1], failures: 0 },
    { type: 'generation-end', finishReason: 'length', usage: { promptTokens: 3, completionTokens: 1 } },
  ],
  [
    'it fails after a token without a grammar',
    { reason: 'error', constraint: null, ids: [1], failures: 0 },
    { type: 'generation-error', code: 'upstream_error' },
  ],
  [
    'it fails without a grammar',
    { reason: 'error', constraint: null, ids: [], failures: 1 },
    { type: 'generation-declined', reason: 'engine-lost', blame: 'suspect' },
  ],
  [
    'it aborts of its own',
    { reason: 'abort', constraint: GRAMMAR, ids: [], failures: 1 },
    { type: 'generation-declined', reason: 'engine-lost', blame: 'none' },
  ],
  [
    'it aborts of its own after a token',
    { reason: 'abort', constraint: null, ids: [1], failures: 0 },
    { type: 'generation-declined', reason: 'engine-lost', blame: 'none' },
  ],
] as const)(
  'an engine that ends by itself (%s) is reported by whose fault it is',
  async (_, engine, last) => {
    const { events, seen } = await process({
      constrain: () => engine.constraint,
      async *engine() {
        if (engine.ids.length > 0) yield tokens(engine.ids)
        yield { ...END, finishReason: engine.reason }
      },
    })
    expect(events.at(-1)).toMatchObject(last)
    expect(seen.failures).toBe(engine.failures)
  },
)

test('a call that fails under a grammar ends the output, too, unless the engine is lost', async () => {
  const failAs = async (kind: 'failed' | 'unavailable') =>
    await process({
      constrain: () => GRAMMAR,
      async *engine() {
        yield tokens([1])
        throw new EngineError(kind, 'the call failed')
      },
    })
  expect((await failAs('failed')).events.at(-1)).toMatchObject({
    type: 'generation-end',
    finishReason: 'length',
  })
  expect((await failAs('unavailable')).events.at(-1)).toMatchObject({ type: 'generation-declined' })
})

test('the refusal of an engine is the caller’s error', async () => {
  const { events, seen } = await process({
    // oxlint-disable-next-line require-yield
    async *engine() {
      throw new EngineError('refused', 'temperature must be at most 2')
    },
  })
  expect(events.at(-1)).toMatchObject({ code: 'invalid_request', message: 'temperature must be at most 2' })
  expect(seen.failures).toBe(0)
})

test.each([
  [new Error('EngineCore at 10.0.0.7 said nonsense'), 'suspect'],
  [new EngineError('unavailable', 'EngineCore at 10.0.0.7 is busy'), 'none'],
] as const)(
  'a failure before any token counts against the engine and is handed back (%s; blame: %s)',
  async (error, blame) => {
    const { events, seen } = await process({
      // oxlint-disable-next-line require-yield
      async *engine() {
        throw error
      },
    })
    expect(events).toEqual([CLAIMED, declined({ reason: 'engine-lost', blame })])
    expect(seen).toMatchObject({ tokens: 0, failures: 1 })
  },
)

test.each([
  ['failed', { type: 'generation-error', code: 'upstream_error' }],
  ['unavailable', { type: 'generation-declined', reason: 'engine-lost', blame: 'none' }],
] as const)('a call that fails after tokens (%s) does not count against the engine', async (kind, last) => {
  const text = await idsOf('one')
  const { events, seen } = await process({
    async *engine() {
      yield tokens(text)
      throw new EngineError(kind, 'EngineCore at 10.0.0.7 crashed')
    },
  })
  expect(events.at(-1)).toMatchObject(last)
  expect(JSON.stringify(events)).not.toContain('10.0.0.7')
  expect(seen).toMatchObject({ tokens: 1, failures: 0 })
})

test('a call that fails with its engine is handed back like all that the engine ran', async () => {
  const text = await idsOf('one')
  const { events, seen } = await process({
    callFailed(run) {
      run.blame = 'suspect'
      run.stop('engine-lost')
    },
    async *engine() {
      yield tokens(text)
      throw new EngineError('dead', 'gone')
    },
  })
  expect(events.at(-1)).toEqual(declined({ reason: 'engine-lost', blame: 'suspect' }))
  expect(seen.failures).toBe(0)
})

test.each([
  ['unwanted', { type: 'text-delta' }],
  ['deadline', { type: 'generation-end', finishReason: 'length' }],
  ['worker-stopping', { type: 'generation-declined', reason: 'worker-stopping', blame: 'none' }],
  ['engine-lost', { type: 'generation-declined', reason: 'engine-lost', blame: 'none' }],
] as const)(
  'stopped (%s) after tokens, its last event is as the stop wants it',
  async (reason, lastEvent) => {
    const text = await idsOf('one two')
    const { events, usage } = await process({
      async *engine(run) {
        yield tokens(text)
        run.stop(reason)
      },
    })
    expect(events.at(-1)).toMatchObject(lastEvent)
    expect(usage?.completionTokens).toBe(text.length)
  },
)

test.each([
  ['deadline', { type: 'generation-end', finishReason: 'length' }],
  ['unwanted', { type: 'text-delta' }],
] as const)('an engine call that fails because of a stop (%s) is no failure', async (reason, lastEvent) => {
  const text = await idsOf('one two')
  const { events, seen } = await process({
    async *engine(run) {
      yield tokens(text)
      run.stop(reason)
      throw new EngineError('unavailable', 'the call was cancelled')
    },
  })
  expect(events.at(-1)).toMatchObject(lastEvent)
  expect(seen.failures).toBe(0)
})
