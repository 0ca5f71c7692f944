import { describe, expect, it } from 'vitest'
import { createChatChunks } from '#apps/gateway/endpoints/chat-completions/to-chunks.ts'
import { createCompletionChunks } from '#apps/gateway/endpoints/completions/to-chunks.ts'
import type { StreamRenderer } from '#apps/gateway/endpoints/generation-endpoint.ts'
import { createMessageEvents } from '#apps/gateway/endpoints/messages/to-events.ts'
import { createResponseEvents } from '#apps/gateway/endpoints/responses/to-events.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { createAnswer } from '#test/support/answer.ts'
import { createResponsesAnswer } from './responses/responses-answer.ts'

const NAMES = { id: '0197-x', model: 'org/demo' }

/** Every renderer of server-sent events. `test/fixtures/sse/<name>/` has its exact output for each turn. */
const RENDERERS: Readonly<Record<string, () => StreamRenderer>> = {
  'chat-completions': () =>
    createChatChunks(createAnswer({ ...NAMES, options: { includeUsage: false, logprobs: false } })),
  'chat-completions-with-usage': () =>
    createChatChunks(createAnswer({ ...NAMES, options: { includeUsage: true, logprobs: false } })),
  completions: () => createCompletionChunks(createAnswer({ ...NAMES, options: { logprobs: null } })),
  'responses-spec': () => createResponseEvents(createResponsesAnswer({ 'x-responses-events': 'spec' })),
  'responses-full': () => createResponseEvents(createResponsesAnswer({ 'x-responses-events': 'full' })),
  messages: () => createMessageEvents(createAnswer({ ...NAMES, options: null })),
}

const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
const end = (finishReason: 'stop' | 'length' | 'tool-calls' = 'stop'): OutputEvent => ({
  type: 'generation-end',
  finishReason,
  usage,
})
/** The usage that is known when a stream begins. */
const prompt = { ...usage, completionTokens: 0, reasoningTokens: 0 }

const text = (value: string): OutputEvent => ({ type: 'text-delta', text: value })
const reasoning = (value: string): OutputEvent => ({ type: 'reasoning-delta', text: value })
const call = (index: number, name: string): OutputEvent => ({
  type: 'tool-call-start',
  index,
  id: `call_${index}`,
  name,
})
const args = (index: number, value: string): OutputEvent => ({ type: 'tool-call-delta', index, text: value })

/** Quotes, control characters, a lone surrogate, and all characters at which Python's splitlines splits. */
const AWKWARD = '"\\\n\r\t\b\u0000\u001c\v\f ä€𝄞 \ud800 \u0085\u2028\u2029 </script>'

/** Batches of events in the form in which a worker sends them, up to the end of the stream. */
const TURNS: Readonly<Record<string, readonly (readonly OutputEvent[])[]>> = {
  text: [[text('Hel')], [text('lo')], [], [end()]],
  'merged-deltas': [
    [reasoning('h'), reasoning('m'), text('a'), text('b')],
    [text('c'), text('d'), end()],
  ],
  'reasoning-text-and-calls': [
    [reasoning('hm')],
    [text('a'), call(0, 'f'), args(0, '{"a"'), args(0, ':1}'), call(1, 'g"')],
    [end('tool-calls')],
  ],
  'calls-alone': [
    [call(0, 'f'), args(0, '{}')],
    [call(1, 'g'), end('tool-calls')],
  ],
  'reasoning-and-a-call': [[reasoning('hm')], [call(0, 'f')], [args(0, '{}'), end('tool-calls')]],
  'text-after-a-call': [[text('a'), call(0, 'f'), args(0, '{}')], [text('b')], [end('tool-calls')]],
  nothing: [[end()]],
  'text-cut-short': [[text('a'), end('length')]],
  'reasoning-cut-short': [[reasoning('hm')], [end('length')]],
  'call-cut-short': [[call(0, 'f'), args(0, '{"a"')], [end('length')]],
  'awkward-text': [[reasoning(AWKWARD)], [text(AWKWARD), call(0, AWKWARD), args(0, AWKWARD), end()]],
}

/** The batches before a failure. */
const FAILURES: Readonly<Record<string, readonly (readonly OutputEvent[])[]>> = {
  'failed-at-once': [],
  'failed-in-its-text': [[reasoning('hm')], [text('a')]],
  'failed-in-a-call': [[text('a'), call(0, 'f')], [args(0, '{"a"')]],
}

const golden = (renderer: string, name: string) => `../../../../fixtures/sse/${renderer}/${name}.sse`

describe.each(Object.entries(RENDERERS))('the stream of %s', (renderer, create) => {
  it.each(Object.entries(TURNS))('is the golden file for a turn of %s', async (name, batches) => {
    const stream = create()
    stream.takePrompt?.(prompt)
    let events = ''
    for (const batch of batches) {
      expect(stream.ended()).toBe(false)
      events += stream.render(batch)
    }
    expect(stream.ended()).toBe(true)
    expectWholeEvents(events)
    await expect(events).toMatchFileSnapshot(golden(renderer, name))
  })

  it.each(Object.entries(FAILURES))('is the golden file of a stream that %s', async (name, batches) => {
    const stream = create()
    stream.takePrompt?.(prompt)
    const rendered = batches.map((batch) => stream.render(batch)).join('')
    expect(stream.ended()).toBe(false)
    const error = { message: AWKWARD, type: 'api_error', code: 'upstream_error', param: 'p' } as const
    const events = rendered + stream.renderError({ error })
    expectWholeEvents(events)
    await expect(events).toMatchFileSnapshot(golden(renderer, name))
  })

  it('renders nothing before the first event, so that a failure still gets an HTTP status', () => {
    const stream = create()
    expect(stream.render([]) + stream.render([])).toBe('')
  })
})

/** The characters other than a line feed at which Python's splitlines splits. */
const OTHER_LINE_ENDS = ['\r', '\v', '\f', '\u001c', '\u001d', '\u001e', '\u0085', '\u2028', '\u2029']

/** Checks that `events` are complete, have JSON or [DONE] as data, and no other line separators than newlines. */
function expectWholeEvents(events: string): void {
  expect(events.endsWith('\n\n')).toBe(true)
  expect(OTHER_LINE_ENDS.filter((end) => events.includes(end))).toEqual([])
  for (const event of events.slice(0, -2).split('\n\n')) {
    const [data = '', name, ...rest] = event.split('\n').toReversed()
    expect(rest).toEqual([])
    expect(data).toMatch(/^data: /)
    const json = data.slice('data: '.length)
    if (json === '[DONE]') continue
    const { type } = JSON.parse(json)
    expect(name ?? `event: ${type}`).toBe(`event: ${type}`)
  }
}
