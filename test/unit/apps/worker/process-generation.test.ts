import { expect, test } from 'vitest'
import type { EngineOutput } from '#apps/worker/engine/engine-client.ts'
import { EngineError } from '#apps/worker/engine/engine-error.ts'
import { ConstraintError } from '#libs/dialect/constrain-output.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { ChatTemplateError } from '#libs/chat-template/chat-renderer.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../support/generation-job.ts'
import { END_IDS, processUnderTest, PROMPT, type Given } from './process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')
const END: EngineOutput = {
  type: 'end',
  finishReason: 'stop',
  matchedTokenId: null,
  matchedStop: null,
  promptTokens: 3,
  cachedTokens: 2,
  completionTokens: 0,
}

async function tokensOf(text: string): Promise<EngineOutput> {
  return { type: 'tokens', ids: await tokenizer.encode(text), promptTokens: 3, cachedTokens: 2 }
}

const process = async (given: Given = {}) => await processUnderTest(tokenizer, given)

const claimed: GenerationEvent = { type: 'generation-claimed', worker: 'worker-1', promptTokens: 3 }

test('claimed, text, end; every token id travels and the usage is settled', async () => {
  const text = await tokensOf('Grüße 🌾')
  const { result, events, ids, settlements } = await process({
    async *engine() {
      yield text
      yield END
    },
  })
  const completionTokens = text.type === 'tokens' ? text.ids.length : 0
  expect(result).toBe('ran')
  expect(events).toEqual([
    claimed,
    { type: 'text-delta', text: 'Grüße 🌾' },
    {
      type: 'generation-end',
      finishReason: 'stop',
      usage: { promptTokens: 3, cachedTokens: 2, completionTokens, reasoningTokens: 0 },
    },
  ])
  expect(ids).toHaveLength(completionTokens)
  expect(settlements).toEqual([['completed', 3, completionTokens]])
})

test('a stop string ends it before the engine does', async () => {
  const [before, after] = [await tokensOf('one two'), await tokensOf(' three')]
  const { events, settlements } = await process({
    job: { request: { ...generationJob().request, stop: ['two'] } },
    async *engine() {
      yield before
      yield after
      throw new Error('the engine was asked for more')
    },
  })
  expect(events.slice(1).map(({ type }) => type)).toEqual(['text-delta', 'generation-end'])
  expect(events[1]).toEqual({ type: 'text-delta', text: 'one ' })
  expect(settlements[0]?.[0]).toBe('completed')
})

test('the engine gets the constraint of the output and the tokens that end it', async () => {
  const constraint = { type: 'json', schema: { type: 'object' } } as const
  const { requests } = await process({
    constrain: () => constraint,
    async *engine() {
      yield END
    },
  })
  const endIds = Array.from(END_IDS)
  expect(requests).toEqual([expect.objectContaining({ constraint, endIds })])
})

test('a constraint that the model cannot follow is the caller’s mistake and costs nothing', async () => {
  const { events, settlements, requests } = await process({
    constrain: () => {
      throw new ConstraintError('this model cannot call tools')
    },
  })
  expect(events.at(-1)).toEqual({
    type: 'generation-error',
    code: 'invalid_request',
    message: 'this model cannot call tools',
  })
  expect(settlements).toEqual([['fault', 3, 0]])
  expect(requests).toEqual([])
})

const GRAMMAR = { type: 'json', schema: {} } as const

test.each([
  [
    'a grammar does not compile',
    { reason: 'error', constraint: GRAMMAR, ids: [], failures: 0 },
    'invalid_request',
  ],
  [
    'it fails after a token',
    { reason: 'error', constraint: GRAMMAR, ids: [1], failures: 0 },
    'upstream_error',
  ],
  [
    'it fails without a grammar',
    { reason: 'error', constraint: null, ids: [], failures: 1 },
    'upstream_error',
  ],
  ['it aborts of its own', { reason: 'abort', constraint: GRAMMAR, ids: [], failures: 1 }, 'upstream_error'],
] as const)(
  'an engine that ends by itself (%s) is reported by whose fault it is',
  async (_, engine, code) => {
    const { events, settlements, seen } = await process({
      constrain: () => engine.constraint,
      async *engine() {
        if (engine.ids.length > 0) yield { type: 'tokens', ids: engine.ids, promptTokens: 3, cachedTokens: 0 }
        yield { ...END, finishReason: engine.reason }
      },
    })
    expect(events.at(-1)).toMatchObject({ type: 'generation-error', code })
    expect([settlements[0]?.[0], seen.failures]).toEqual(['fault', engine.failures])
  },
)

test('the only call ends it before the engine does, and what follows is neither sent nor asked for', async () => {
  const output = await tokensOf('<tool_call>{"name": "f", "arguments": {}}</tool_call> and more')
  const { events, settlements } = await process({
    singleCall: true,
    async *engine() {
      yield output
      throw new Error('the engine was asked for more')
    },
  })
  expect(events.slice(1)).toMatchObject([
    { type: 'tool-call-start', name: 'f' },
    { type: 'tool-call-delta', text: '{}' },
    { type: 'generation-end', finishReason: 'tool-calls' },
  ])
  expect(settlements[0]?.[0]).toBe('completed')
})

test('a call that the limit cuts short ends as length', async () => {
  const cut = await tokensOf('<tool_call>{"name": "f", "arguments": {"city": "Pa')
  const { events } = await process({
    singleCall: true,
    async *engine() {
      yield cut
      yield { ...END, finishReason: 'length' }
    },
  })
  expect(events.slice(2)).toMatchObject([
    { type: 'tool-call-delta', text: '{"city": "Pa' },
    { type: 'generation-end', finishReason: 'length' },
  ])
})

test.each(['gone', 'settled', 'cancelled', 'stale', 'taken'] as const)(
  'a ticket whose claim is refused (%s) leaves no trace',
  async (status) => {
    expect(await process({ claim: { status } })).toMatchObject({
      result: 'not-ran',
      events: [],
      settlements: [],
    })
  },
)

test('a stopping worker gives it back', async () => {
  const { result, events, settlements } = await process({ stopping: true })
  expect(result).toBe('not-ran')
  expect(events).toEqual([{ type: 'generation-declined', reason: 'worker-stopping', promptTokens: 0 }])
  expect(settlements).toEqual([])
})

test('a hold that the estimate made too small is given back with the exact count', async () => {
  const { hold } = generationJob()
  const { events, settlements } = await process({ job: { hold: { ...hold, amountNano: '1' } } })
  expect(events).toEqual([{ type: 'generation-declined', reason: 'hold-too-small', promptTokens: 3 }])
  expect(settlements).toEqual([])
})

test('a caller that left while the prompt was rendered is settled, not declined', async () => {
  const { hold } = generationJob()
  const { events, settlements } = await process({
    job: { hold: { ...hold, amountNano: '1' } },
    render: async (run) => {
      run.stop('cancelled')
      return PROMPT
    },
  })
  expect(events).toEqual([])
  expect(settlements).toEqual([['cancelled', 0, 0]])
})

test.each([
  [
    'insufficient_credits',
    { hold: { ...generationJob().hold, amountNano: '1', clamped: true } },
    'Not enough credits for this prompt and one token of output: 0.000000001 available beside what other requests hold.',
  ],
  [
    'invalid_request',
    { contextWindow: 3 },
    'The prompt exceeds the context window of 3 tokens: no token of output fits.',
  ],
])('what cannot run is %s with the numbers in its way, and costs nothing', async (code, job, message) => {
  const { events, settlements } = await process({ job })
  expect(events).toEqual([{ type: 'generation-error', code, message }])
  expect(settlements).toEqual([['fault', 0, 0]])
})

test('a prompt that the template refuses is the caller’s mistake, in the template’s words', async () => {
  const { events, seen } = await process({
    render: async () => {
      throw new ChatTemplateError('roles must alternate')
    },
  })
  expect(events).toEqual([
    { type: 'generation-error', code: 'invalid_request', message: 'roles must alternate' },
  ])
  expect(seen.failures).toBe(0)
})

test('the refusal of an engine is reported; the failure of an engine is not described', async () => {
  const failWith = (error: EngineError) =>
    process({
      // oxlint-disable-next-line require-yield
      async *engine() {
        throw error
      },
    })
  const refused = await failWith(new EngineError('refused', 'temperature must be at most 2'))
  expect(refused.events.at(-1)).toMatchObject({
    code: 'invalid_request',
    message: 'temperature must be at most 2',
  })
  expect(refused.seen.failures).toBe(0)

  const dead = await failWith(new EngineError('dead', 'EngineCore at 10.0.0.7 crashed'))
  expect(dead.events.at(-1)).toMatchObject({ code: 'upstream_error' })
  expect(JSON.stringify(dead.events)).not.toContain('10.0.0.7')
  expect(dead.seen.failures).toBe(1)
  expect(dead.settlements).toEqual([['fault', 3, 0]])
})

test('a failure after tokens does not count as one of a worker that fails everything', async () => {
  const text = await tokensOf('one')
  const { events, seen, settlements } = await process({
    async *engine() {
      yield text
      throw new EngineError('dead', 'gone')
    },
  })
  expect(events.at(-1)).toMatchObject({ type: 'generation-error', code: 'upstream_error' })
  expect(seen).toEqual({ tokens: 1, failures: 0 })
  expect(settlements[0]?.[0]).toBe('fault')
})

test.each([
  ['cancelled', 'cancelled', { type: 'text-delta' }],
  ['gateway-dead', 'fault', { type: 'text-delta' }],
  ['deadline', 'completed', { type: 'generation-end', finishReason: 'length' }],
  ['worker-stopping', 'fault', { type: 'generation-error', code: 'upstream_error' }],
  ['engine-lost', 'fault', { type: 'generation-error', code: 'upstream_error' }],
] as const)('stopped (%s), it is settled as %s', async (reason, outcome, lastEvent) => {
  const text = await tokensOf('one two')
  const { events, settlements } = await process({
    async *engine(run) {
      yield text
      run.stop(reason)
    },
  })
  expect(settlements).toEqual([[outcome, 3, text.type === 'tokens' ? text.ids.length : 0]])
  expect(events.at(-1)).toMatchObject(lastEvent)
})

test.each([
  ['deadline', 'completed', { type: 'generation-end', finishReason: 'length' }],
  ['cancelled', 'cancelled', { type: 'text-delta' }],
] as const)('an engine call that fails because of a stop (%s) is no failure', async (...row) => {
  const [reason, outcome, lastEvent] = row
  const text = await tokensOf('one two')
  const { events, settlements, seen } = await process({
    async *engine(run) {
      yield text
      run.stop(reason)
      throw new EngineError('unavailable', 'the call was cancelled')
    },
  })
  expect(settlements[0]?.[0]).toBe(outcome)
  expect(events.at(-1)).toMatchObject(lastEvent)
  expect(seen.failures).toBe(0)
})
