import { describe, expect, it } from 'vitest'
import { createResponseEvents } from '#apps/gateway/endpoints/responses/to-events.ts'
import { answerOf, args, call, end, ERROR, read, render, text, thought, typesOf } from './rendered-stream.ts'

const MESSAGE = [
  'output_item.added',
  'content_part.added',
  'output_text.delta',
  'output_text.done',
  'content_part.done',
  'output_item.done',
]
const EMPTY_MESSAGE = MESSAGE.filter((type) => type !== 'output_text.delta')
const REASONING = [
  'output_item.added',
  'reasoning_summary_part.added',
  'reasoning_summary_text.delta',
  'reasoning_summary_text.done',
  'reasoning_summary_part.done',
  'output_item.done',
]
const CALL = [
  'output_item.added',
  'function_call_arguments.delta',
  'function_call_arguments.done',
  'output_item.done',
]
const CALL_WITHOUT_ARGUMENTS = CALL.filter((type) => type !== 'function_call_arguments.delta')

describe('the full set', () => {
  it.each([
    ['text', [text('a'), end()], MESSAGE],
    [
      'thinking, text and calls',
      [thought('h'), text('a'), call(0), args(0, '{}'), call(1), end('tool-calls')],
      [...REASONING, ...MESSAGE, ...CALL, ...CALL_WITHOUT_ARGUMENTS],
    ],
    ['text after a call', [call(0), args(0, '{}'), text('b'), end('tool-calls')], [...CALL, ...MESSAGE]],
    ['nothing at all', [end()], EMPTY_MESSAGE],
    ['thinking that was cut short', [thought('h'), end('length')], [...REASONING, ...EMPTY_MESSAGE]],
  ])('tells a turn of %s in OpenAI’s order, each event by its name', (_name, batch, expected) => {
    const frames = render('full', batch)
    const events = read(frames)
    expect(typesOf(events)).toEqual(['created', 'in_progress', ...expected, 'completed'])
    expect(frames.match(/^event: .*$/gm)).toEqual(events.map(({ type }) => `event: ${type}`))
  })

  it('adds items without their parts and parts without their text', () => {
    const events = read(render('full', [thought('h'), text('a'), call(0), end('tool-calls')]))
    expect(events.flatMap(({ type, item }) => (type === 'response.output_item.added' ? [item] : []))).toEqual(
      [
        { id: 'rs_0197-x_0', type: 'reasoning', status: 'in_progress', summary: [], content: [] },
        { id: 'msg_0197-x_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
        {
          id: 'fc_0197-x_2',
          type: 'function_call',
          status: 'in_progress',
          call_id: 'call_0',
          name: 'f',
          arguments: '',
        },
      ],
    )
    expect(events.flatMap(({ part }) => (part === undefined ? [] : [part.text]))).toEqual(['', 'h', '', 'a'])
  })

  it('leaves an item that the failure interrupts open', () => {
    const events = createResponseEvents(answerOf('full'))
    const frames = events.render([text('a')]) + events.renderError({ error: ERROR })
    expect(typesOf(read(frames))).toEqual(['created', 'in_progress', ...MESSAGE.slice(0, 3), 'failed'])
  })
})
