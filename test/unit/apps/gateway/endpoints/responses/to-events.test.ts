import { describe, expect, it } from 'vitest'
import { ResponseEvent } from '#apps/gateway/endpoints/responses/response-events.ts'
import { ResponseObject } from '#apps/gateway/endpoints/responses/response-object.ts'
import { createResponseEvents } from '#apps/gateway/endpoints/responses/to-events.ts'
import {
  answerOf,
  args,
  call,
  end,
  ERROR,
  read,
  render,
  text,
  thought,
  tokens,
  typesOf,
  wholeOf,
} from './rendered-stream.ts'

describe.each(['spec', 'full'] as const)('a stream in the %s set', (eventSet) => {
  it('names its set in a header', () => {
    expect(createResponseEvents(answerOf(eventSet)).headers).toEqual({ 'x-responses-events': eventSet })
  })

  it('begins with a response without output and ends with the complete response', async () => {
    const batches = [[thought('h')], [text('a'), text('b')], [call(0), args(0, '{}'), end('tool-calls')]]
    const events = read(render(eventSet, ...batches))
    expect(typesOf(events).slice(0, 2)).toEqual(['created', 'in_progress'])
    for (const { response } of events.slice(0, 2)) {
      expect(response).toMatchObject({
        object: 'response',
        status: 'in_progress',
        output: [],
        usage: null,
        created_at: 1_700_000_000,
        model: 'org/demo',
      })
    }
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { completed_at: 1_700_000_002 },
    })
    expect(events.at(-1)?.response).toEqual(await wholeOf(batches))
  })

  it('has the log probabilities of the text alone, in its events and in the complete response', async () => {
    const batches = [
      [tokens('<think>'), tokens('h'), thought('h')],
      [tokens('</think>'), tokens('\n\n'), tokens('a'), text('a'), tokens('b'), text('b')],
      [tokens('', '🌾'), text('🌾')],
      [tokens('<call>', 'f'), call(0), tokens('{}'), args(0, '{}'), tokens('</s>'), end('tool-calls')],
    ]
    const entry = (token: string) => {
      const listed = { token, logprob: -0.5, bytes: [...Buffer.from(token)] }
      return { ...listed, top_logprobs: [listed] }
    }
    const all = [entry('a'), entry('b'), entry(''), entry('🌾')]
    const events = read(render(eventSet, ...batches))
    const entriesOf = (type: string) =>
      events.flatMap((event) => (event.type === `response.output_text.${type}` ? [event.logprobs] : []))
    expect(entriesOf('delta')).toEqual([all.slice(0, 2), all.slice(2)])
    expect(entriesOf('done')).toEqual([all])
    for (const event of events) ResponseEvent.parse(event)
    const whole = await wholeOf(batches)
    expect(whole.output).toMatchObject([{}, { content: [{ text: 'ab🌾', logprobs: all }] }, {}])
    expect(events.at(-1)?.response).toEqual(whole)
    const parts = events.flatMap(({ type, part }) => (type === 'response.content_part.done' ? [part] : []))
    expect(parts.map((part) => part?.logprobs)).toEqual(eventSet === 'full' ? [all] : [])
  })

  it('has no tokens of reasoning or calls where the texts of tokens differ from the output', async () => {
    const batches = [
      [tokens('h'), thought('h'), tokens('a'), text('\uFFFDa')],
      [tokens('f'), call(0), tokens('{}'), args(0, '{}'), tokens('b'), text('\uFFFDb'), end()],
    ]
    const events = read(render(eventSet, ...batches))
    const deltas = events.flatMap((event) => event.logprobs?.map(({ token }) => token) ?? [])
    expect(deltas).toEqual(['a', 'a', 'b', 'b'])
    expect(events.at(-1)?.response).toEqual(await wholeOf(batches))
  })

  it('numbers its events from 0 and keeps one response id', () => {
    const events = read(render(eventSet, [text('a')], [text('b'), call(0)], [end()]))
    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()])
    expect(new Set(events.flatMap(({ response }) => response?.id ?? []))).toEqual(new Set(['resp_0197-x']))
  })

  it('ends with response.completed also when the limit was reached', () => {
    const events = read(render(eventSet, [text('a'), end('length')]))
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        completed_at: null,
        output: [{ status: 'incomplete' }],
      },
    })
  })

  it('merges the deltas of one kind in a batch, and never those of two batches', () => {
    const events = read(render(eventSet, [text('a'), text('b')], [text('c')], [end()]))
    expect(events.flatMap(({ delta }) => delta ?? [])).toEqual(['ab', 'c'])
  })

  it('reports a failure in the response and next to it, with the items that were done', () => {
    const events = createResponseEvents(answerOf(eventSet))
    const before = events.render([text('a'), call(0), args(0, '{')])
    const failed = read(before + events.renderError({ error: { ...ERROR, param: 'p' } })).at(-1)
    expect(failed).toMatchObject({
      type: 'response.failed',
      sequence_number: read(before).length,
      error: { ...ERROR, param: 'p' },
      response: {
        id: 'resp_0197-x',
        status: 'failed',
        error: { code: 'model_unavailable', message: 'm' },
        usage: null,
        output: [{ type: 'message', content: [{ text: 'a' }] }],
      },
    })
    expect(Object.keys(ResponseObject.shape).filter((field) => !(field in (failed?.response ?? {})))).toEqual(
      [],
    )
  })

  it('rejects a delta of a call that has ended', () => {
    expect(() => render(eventSet, [call(0), call(1), args(0, '{')])).toThrow(
      expect.objectContaining({ code: 'upstream_error' }),
    )
  })
})
