import { expect, test } from 'vitest'
import type { EngineEnd } from '#apps/worker/engine/engine-client.ts'
import { createSentPrefixes } from '#apps/worker/run/cached/sent-prefixes.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { END, END_IDS, processUnderTest, PROMPT, tokens, type Given } from '../process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')

const encode = async (text: string) => Array.from(await tokenizer.encode(text))
const end = (finishReason: 'stop' | 'length'): EngineEnd => ({ ...END, finishReason })

/** Continues a generation after `ids`. Without a given engine, a call of the engine fails. */
const continueAfter = async (ids: readonly number[], given: Given = {}) =>
  await processUnderTest(tokenizer, {
    ...given,
    claimed: { epoch: 2, ids: Uint32Array.from(ids), promptTokens: 3, ...given.claimed },
  })

const withStop = (...stop: string[]): NonNullable<Given['job']> => ({
  request: { ...generationJob().request, stop },
})

test('a continued chat repeats nothing: the engine gets the ids behind the prompt and the rest of the cap', async () => {
  const [before, after] = [await encode('one two'), await encode(' three')]
  const { events, ids, requests, seen, usage } = await continueAfter(before, {
    job: { maxOutputTokens: 50 },
    async *engine() {
      yield tokens(after)
      yield end('stop')
    },
  })
  expect(requests).toMatchObject([{ maxTokens: 50 - before.length, requestId: expect.stringMatching(/-2$/) }])
  expect(Array.from(requests[0]?.promptIds ?? [])).toEqual([...PROMPT.ids, ...before])
  expect(events).toMatchObject([
    { type: 'generation-claimed', promptTokens: 3, after: before.length },
    { type: 'text-delta', text: ' three' },
    { type: 'generation-end', finishReason: 'stop' },
  ])
  expect([ids, seen.replayed]).toEqual([after, before.length])
  expect(usage).toMatchObject({ promptTokens: 3, completionTokens: before.length + after.length })
})

test('bill and cap stay those of the first claim, also where the prompt is rendered differently', async () => {
  const { events, ids, requests } = await continueAfter(await encode('one'), {
    claimed: { promptTokens: 2 },
    // The hold pays for two input tokens, and for four output tokens, which cost twice as much.
    job: { hold: { ...generationJob().hold, amountNano: '10', clamped: true } },
    async *engine(run) {
      run.onHold?.({ amountNano: '10', isFinal: true })
      for (let step = 0; step < 4; step += 1) yield tokens(await encode('one'))
      throw new Error('the engine was asked for more')
    },
  })
  expect(events[0]).toMatchObject({ type: 'generation-claimed', promptTokens: 2 })
  const [one = 0] = await encode('one')
  expect(requests[0]?.maxTokens).toBe(100 - 1)
  expect(ids).toEqual([one, one, one])
  expect(events.at(-1)).toMatchObject({ usage: { promptTokens: 2 } })
})

test('half a character before the cut is completed after it', async () => {
  const [first = 0, ...rest] = await encode('🌾')
  const { events } = await continueAfter([first], {
    async *engine() {
      yield tokens(rest)
      yield end('stop')
    },
  })
  expect(events[1]).toEqual({ type: 'text-delta', text: '🌾' })
})

test('a stop string across the cut is found, and its beginning is never sent', async () => {
  const whole = await encode('one STOPPED two')
  const at = (await encode('one STO')).length
  const undisturbed = await processUnderTest(tokenizer, {
    job: withStop('STOPPED'),
    async *engine() {
      for (const id of whole) yield tokens([id])
      throw new Error('the engine was asked for more')
    },
  })
  const continued = await continueAfter(whole.slice(0, at), {
    job: withStop('STOPPED'),
    async *engine() {
      for (const id of whole.slice(at)) yield tokens([id])
      throw new Error('the engine was asked for more')
    },
  })
  const text = (events: readonly GenerationEvent[]) =>
    events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')
  expect(text(undisturbed.events)).toBe('one ')
  expect(text(continued.events)).toBe('')
  expect(continued.events.at(-1)).toEqual(undisturbed.events.at(-1))
})

test('a replay that finds the stop string ends without the engine; what was buffered is sent with the end', async () => {
  const ids = await encode('one STOP')
  const { groups, requests } = await continueAfter(ids, { job: withStop('STOP') })
  expect(requests).toEqual([])
  const ended = { type: 'generation-end', finishReason: 'stop', stopString: 'STOP' }
  expect(groups.at(-1)).toMatchObject([{ event: { ...ended, usage: { completionTokens: ids.length } } }])
})

test('a replay that ends with an end token is over: only the end had been lost', async () => {
  const [endId = 0] = END_IDS
  const ids = [...(await encode('one two')), endId]
  const { events, requests } = await continueAfter(ids)
  expect(requests).toEqual([])
  expect(events.slice(1)).toMatchObject([
    { type: 'generation-end', finishReason: 'stop', usage: { completionTokens: ids.length } },
  ])
})

test('a replay that reaches the cap ends as length without the engine', async () => {
  const ids = await encode('one two three')
  const { events, requests } = await continueAfter(ids, { job: { maxOutputTokens: ids.length } })
  expect(requests).toEqual([])
  expect(events.slice(1)).toMatchObject([
    { type: 'generation-end', finishReason: 'length', usage: { completionTokens: ids.length } },
  ])
})

test('a replay flushes what the parser still buffers, in one group with the end', async () => {
  const ids = await encode('one ST')
  const { groups } = await continueAfter(ids, { job: { ...withStop('STOP'), maxOutputTokens: ids.length } })
  expect(groups.slice(1)).toMatchObject([
    [
      { event: { type: 'text-delta', text: 'ST' } },
      { event: { type: 'generation-end', finishReason: 'length' } },
    ],
  ])
})

test('a call that began before the cut goes on, with its index, and its start is not repeated', async () => {
  const whole = await encode('<tool_call>{"name": "f", "arguments": {"city": "Paris"}}</tool_call>')
  const at = whole.length - 6
  const { events } = await continueAfter(whole.slice(0, at), {
    tools: true,
    async *engine() {
      yield tokens(whole.slice(at))
      yield end('stop')
    },
  })
  expect(events.map(({ type }) => type)).toEqual(['generation-claimed', 'tool-call-delta', 'generation-end'])
  expect(events.at(-1)).toMatchObject({ finishReason: 'tool-calls' })
})

test('a later epoch does not report its own replay as a discount', async () => {
  const { events, usage } = await continueAfter(await encode('one'), {
    async *engine() {
      yield tokens(await encode(' two'), 3)
      yield { ...end('stop'), cachedTokens: 4 }
    },
  })
  expect(events.map(({ type }) => type)).toEqual(['generation-claimed', 'text-delta', 'generation-end'])
  expect(usage?.cachedTokens).toBe(0)
})

test('a restart is like a start, with the first claim’s count', async () => {
  const { events, requests } = await continueAfter([], {
    claimed: { promptTokens: 2 },
    async *engine() {
      yield end('stop')
    },
  })
  expect(events[0]).toMatchObject({ type: 'generation-claimed', promptTokens: 2, after: 0 })
  expect(Array.from(requests[0]?.promptIds ?? [])).toEqual([...PROMPT.ids])
})

test('output that the deadline meets between two workers completes as length', async () => {
  const ids = await encode('one two')
  const { events } = await continueAfter(ids, {
    claimed: { remainingMs: 0 },
    // oxlint-disable-next-line require-yield
    async *engine() {
      throw new Error('the call was cancelled')
    },
  })
  expect(events.at(-1)).toMatchObject({
    type: 'generation-end',
    finishReason: 'length',
    usage: { completionTokens: ids.length },
  })
})

test('output that outgrew this engine needs a larger one', async () => {
  const ids = await encode('one two three')
  const { events } = await continueAfter(ids, { engineWindow: 3 + ids.length })
  expect(events).toMatchObject([{ reason: 'misfit', requirement: `window:${3 + ids.length + 1}` }])
})

test('a long replay leaves the event loop to others in between', async () => {
  const [id = 0] = await encode(' one')
  let turns = 0
  const timer = setInterval(() => (turns += 1), 0)
  const { seen } = await continueAfter(
    Array.from({ length: 20_000 }, () => id),
    {
      job: {
        maxOutputTokens: 20_000,
        contextWindow: 30_000,
        hold: { ...generationJob().hold, amountNano: '90000000' },
      },
      engineWindow: 30_000,
    },
  )
  clearInterval(timer)
  expect(seen.replayed).toBe(20_000)
  expect(turns).toBeGreaterThan(0)
})

test.for([
  { promptTokens: 2_048, sent: [{ type: 'generation-declined', promptTokens: 2_048 }] },
  { promptTokens: 2_049, sent: [{ type: 'generation-claimed', promptTokens: 2_049 }] },
])(
  'a hang-up before the first token: the gateway learns that the engine had $promptTokens tokens',
  async ({ promptTokens, sent }) => {
    const { events } = await processUnderTest(tokenizer, {
      job: { hold: { ...generationJob().hold, amountNano: '1000000000' } },
      render: async () => ({ ...PROMPT, ids: new Uint32Array(promptTokens) }),
      async *engine(run) {
        run.stop('unwanted')
        run.signal.throwIfAborted()
        yield end('stop')
      },
    })
    expect(events).toMatchObject(sent)
  },
)

test('only what its own tenant has sent counts as cached, whatever the engine says', async () => {
  const sentPrefixes = createSentPrefixes()
  const ids = Uint32Array.from({ length: 40 }, (_, i) => i)
  const ask = async (prefixTenant: string) => {
    const { events, requests, usage } = await processUnderTest(tokenizer, {
      prefixTenant,
      sentPrefixes,
      render: async () => ({ ...PROMPT, ids }),
      async *engine() {
        yield tokens(await encode('one'), 32)
        yield { ...end('stop'), cachedTokens: 32 }
      },
    })
    expect(requests).toMatchObject([{ cacheSalt: prefixTenant }])
    const reported = events.filter(({ type }) => type === 'prompt-cached')
    return { reported, charged: usage?.cachedTokens }
  }
  const nothing = { reported: [], charged: 0 }
  const all = { reported: [{ type: 'prompt-cached', cachedTokens: 32 }], charged: 32 }
  expect(await ask('a')).toEqual(nothing)
  expect(await ask('a')).toEqual(all)
  expect(await ask('b')).toEqual(nothing)
  expect(await ask('b')).toEqual(all)
})

test('a model that ends in the middle of a call was cut, and has called nothing', async () => {
  const called = '<tool_call>{"name": "f", "arguments": {"a": '
  for (const [text, finishReason] of [
    [`${called}1`, 'length'],
    [`${called}1}}</tool_call>`, 'tool-calls'],
  ]) {
    const ids = await encode(text ?? '')
    const { events } = await processUnderTest(tokenizer, {
      tools: true,
      async *engine() {
        yield tokens(ids)
        yield end('stop')
      },
    })
    expect(events.at(-1)).toMatchObject({ type: 'generation-end', finishReason })
  }
})

test('a stop string in the buffered rest of an output ends it, also where the engine ended it at its limit', async () => {
  const ids = await encode('one\n')
  const { events } = await processUnderTest(tokenizer, {
    job: withStop('\n'),
    tools: true,
    async *engine() {
      yield tokens(ids)
      yield end('length')
    },
  })
  expect(events.slice(1)).toMatchObject([
    { type: 'text-delta', text: 'one' },
    { type: 'generation-end', finishReason: 'stop', stopString: '\n' },
  ])
})

test('a least number of tokens counts from the generation’s beginning, and never exceeds what may still come', async () => {
  const before = await encode('one two')
  const ask = async (minTokens: number, maxOutputTokens: number) => {
    const { requests } = await continueAfter(before, {
      job: { maxOutputTokens, request: { ...generationJob().request, minTokens } },
      async *engine() {
        yield end('length')
      },
    })
    return requests[0]
  }
  expect(await ask(40, 50)).toMatchObject({ minTokens: 40 - before.length, endIds: [...END_IDS] })
  expect(await ask(1, 50)).toMatchObject({ minTokens: 0 })
  expect(await ask(50, before.length + 3)).toMatchObject({ minTokens: 3, maxTokens: 3 })
})

test('no end token ends an output that ignores them, neither now nor where it goes on elsewhere', async () => {
  const [endId = 0] = END_IDS
  const before = [...(await encode('one')), endId]
  const after = [...(await encode(' two')), endId]
  const { events, requests } = await continueAfter(before, {
    job: { request: { ...generationJob().request, ignoreEos: true } },
    async *engine() {
      yield tokens(after)
      yield end('length')
    },
  })
  expect(requests).toMatchObject([{ ignoreEos: true, endIds: [] }])
  expect(events.slice(1)).toMatchObject([
    { type: 'text-delta', text: ' two' },
    { type: 'generation-end', finishReason: 'length' },
  ])
})
