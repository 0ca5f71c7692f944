import { expect, test } from 'vitest'
import { ConstraintError } from '#libs/dialect/constrain-output.ts'
import { ChatTemplateError } from '#libs/chat-template/chat-renderer.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../support/generation-job.ts'
import {
  CLAIMED,
  declined,
  END,
  END_IDS,
  processUnderTest,
  PROMPT,
  tokens,
  type Given,
} from './process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')

const idsOf = async (text: string) => Array.from(await tokenizer.encode(text))

const process = async (given: Given = {}) => await processUnderTest(tokenizer, given)

test('claimed, text, end; every token id travels, and the end carries the usage', async () => {
  const ids = await idsOf('Grüße 🌾')
  const {
    events,
    ids: sent,
    hasEnded,
  } = await process({
    async *engine() {
      yield tokens(ids)
      yield END
    },
  })
  const usage = { promptTokens: 3, cachedTokens: 0, completionTokens: ids.length, reasoningTokens: 0 }
  expect(events).toEqual([
    CLAIMED,
    { type: 'text-delta', text: 'Grüße 🌾' },
    { type: 'generation-end', finishReason: 'stop', usage },
  ])
  expect([sent, hasEnded]).toEqual([ids, true])
})

test('an epoch that this worker has had already is not started a second time', async () => {
  const { taken, events, requests, gaveBack } = await process({ hasHad: true })
  expect([taken !== null, events, requests, gaveBack]).toEqual([true, [], [], []])
})

test('all events of a push are one group with its ids; ids without an event wait for the next, at last for the end', async () => {
  const [text, call] = [
    await idsOf('A'),
    await idsOf(' <tool_call>{"name": "f", "arguments": {}}</tool_call>'),
  ]
  const character = await idsOf('🌾')
  const { groups } = await process({
    tools: true,
    async *engine() {
      yield tokens(text)
      yield tokens(call)
      yield tokens(character.slice(0, 1))
      yield tokens(character.slice(1, 2))
      yield { ...END, finishReason: 'length' }
    },
  })
  expect(groups.map((group) => group.map(({ event, ids }) => [event.type, ids]))).toEqual([
    [['generation-claimed', []]],
    [['text-delta', text]],
    [
      ['tool-call-start', call],
      ['tool-call-delta', []],
    ],
    [
      ['text-delta', character.slice(0, 2)],
      ['generation-end', []],
    ],
  ])
})

test('what the engine had cached is reported with the first token, once', async () => {
  const [one, two] = [await idsOf('one'), await idsOf(' two')]
  const { groups, usage } = await process({
    async *engine() {
      yield tokens(one, 2)
      yield tokens(two, 2)
      yield { ...END, cachedTokens: 2 }
    },
  })
  expect(groups[1]).toMatchObject([
    { event: { type: 'prompt-cached', cachedTokens: 2 }, ids: one },
    { event: { type: 'text-delta', text: 'one' }, ids: [] },
  ])
  expect(groups.flat().filter(({ event }) => event.type === 'prompt-cached')).toHaveLength(1)
  expect(usage?.cachedTokens).toBe(2)
})

test('what the engine had cached is charged as such where only its end says so', async () => {
  const { usage } = await process({
    async *engine() {
      yield { ...END, cachedTokens: 2 }
    },
  })
  expect(usage).toMatchObject({ promptTokens: 3, cachedTokens: 2, completionTokens: 0 })
})

test('a stop string ends it before the engine does', async () => {
  const [before, after] = [await idsOf('one two'), await idsOf(' three')]
  const { events } = await process({
    job: { request: { ...generationJob().request, stop: ['two'] } },
    async *engine() {
      yield tokens(before)
      yield tokens(after)
      throw new Error('the engine was asked for more')
    },
  })
  expect(events.slice(1)).toMatchObject([
    { type: 'text-delta', text: 'one ' },
    { type: 'generation-end', finishReason: 'stop' },
  ])
})

test('the engine gets the constraint of the output and the tokens that end it; its first event names the grammar', async () => {
  const constraint = { type: 'answer', schema: { type: 'object' } } as const
  const { requests, events } = await process({
    constrain: () => constraint,
    async *engine() {
      yield END
    },
  })
  const endIds = Array.from(END_IDS)
  expect(requests).toEqual([expect.objectContaining({ constraint, endIds })])
  expect(events[0]).toEqual({ ...CLAIMED, guided: true })
})

test('a constraint that the model cannot follow is the caller’s mistake', async () => {
  const { events, requests } = await process({
    constrain: () => {
      throw new ConstraintError('this model cannot call tools')
    },
  })
  expect(events).toEqual([
    { type: 'generation-error', code: 'invalid_request', message: 'this model cannot call tools' },
  ])
  expect(requests).toEqual([])
})

test('the only call ends it before the engine does, and what follows is neither sent nor asked for', async () => {
  const output = await idsOf('<tool_call>{"name": "f", "arguments": {}}</tool_call> and more')
  const { events } = await process({
    tools: true,
    singleCall: true,
    async *engine() {
      yield tokens(output)
      throw new Error('the engine was asked for more')
    },
  })
  expect(events.slice(1)).toMatchObject([
    { type: 'tool-call-start', name: 'f' },
    { type: 'tool-call-delta', text: '{}' },
    { type: 'generation-end', finishReason: 'tool-calls' },
  ])
})

test('a call that the limit cuts short ends as length', async () => {
  const cut = await idsOf('<tool_call>{"name": "f", "arguments": {"city": "Pa')
  const { events } = await process({
    tools: true,
    async *engine() {
      yield tokens(cut)
      yield { ...END, finishReason: 'length' }
    },
  })
  expect(events.slice(2)).toMatchObject([
    { type: 'tool-call-delta', text: '{"city": "Pa' },
    { type: 'generation-end', finishReason: 'length' },
  ])
})

test('a claim that gets nothing leaves no trace', async () => {
  expect(await process({ claim: { status: 'nothing' } })).toMatchObject({
    taken: null,
    events: [],
    gaveBack: [],
  })
})

test.each(['unreadable', 'incomplete'] as const)('a job that is %s is given back', async (status) => {
  const claim = { status, id: 'g', epoch: 1, gateway: 'gateway-1', stream: 1 }
  expect(await process({ claim })).toMatchObject({ gaveBack: [`${status} g`], requests: [] })
})

test.each(['worker-stopping', 'engine-lost'] as const)(
  'a worker that does not run (%s) hands it back',
  async (reason) => {
    const { events, handedBack } = await process({ whyNotRun: reason })
    expect(events).toEqual([declined({ reason })])
    expect(handedBack).toEqual([reason])
  },
)

test('a hold that the estimate made too small is given back with the exact count', async () => {
  const { hold } = generationJob()
  const { events } = await process({ job: { hold: { ...hold, amountNano: '1' } } })
  expect(events).toEqual([declined({ reason: 'hold-too-small', promptTokens: 3 })])
})

test('a prompt that only a larger engine holds is given back with the window that it needs', async () => {
  const { events, requests } = await process({ engineWindow: 3 })
  expect(events).toEqual([declined({ reason: 'misfit', requirement: 'window:4' })])
  expect(requests).toEqual([])
})

test('a caller that left while the prompt was rendered has used nothing, whatever its hold', async () => {
  const { hold } = generationJob()
  const { events } = await process({
    job: { hold: { ...hold, amountNano: '1' } },
    render: async (run) => {
      run.stop('unwanted')
      return PROMPT
    },
  })
  expect(events).toEqual([declined({ promptTokens: 0 })])
})

test.each([
  [
    'insufficient_credits',
    { hold: { ...generationJob().hold, amountNano: '1', clamped: true } },
    'Not enough credits for this prompt and one token of output: 0.000000001 available beside what other requests hold.',
  ],
  [
    'context_length_exceeded',
    { contextWindow: 3 },
    "The prompt is too long: it exceeds the context window. This model's maximum context length is 3 tokens; the prompt has 3.",
  ],
])('what cannot run is %s with the numbers in its way', async (code, job, message) => {
  const { events } = await process({ job })
  expect(events).toEqual([{ type: 'generation-error', code, message }])
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

test('what is claimed after its deadline never runs', async () => {
  const { events, requests } = await process({ claimed: { remainingMs: -5 } })
  expect(events).toEqual([expect.objectContaining({ type: 'generation-error', code: 'model_unavailable' })])
  expect(requests).toEqual([])
})
