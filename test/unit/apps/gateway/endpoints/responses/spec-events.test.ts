import { describe, expect, it } from 'vitest'
import { args, call, end, read, render, text, thought, typesOf } from './rendered-stream.ts'

describe('the spec set', () => {
  it.each([
    ['text', [text('a'), text('b'), end()], ['output_text.delta', 'output_text.done', 'output_item.done']],
    [
      'thinking and text',
      [thought('h'), text('a'), end()],
      ['output_text.delta', 'output_text.done', 'output_item.done'],
    ],
    [
      'text cut short',
      [text('a'), end('length')],
      ['output_text.delta', 'output_text.done', 'output_item.done'],
    ],
    [
      'calls only',
      [call(0), args(0, '{}'), call(1), end('tool-calls')],
      ['output_item.done', 'output_item.done'],
    ],
    ['thinking and a call', [thought('h'), call(0), end('tool-calls')], ['output_item.done']],
    [
      'text and a call',
      [text('a'), call(0), end('tool-calls')],
      ['output_text.delta', 'output_text.done', 'output_item.done', 'output_item.done'],
    ],
    [
      'text after a call',
      [text('a'), call(0), text('b'), end('tool-calls')],
      [
        'output_text.delta',
        'output_text.done',
        'output_item.done',
        'output_item.done',
        'output_text.delta',
        'output_text.done',
        'output_item.done',
      ],
    ],
    ['nothing at all', [end()], ['output_text.done', 'output_item.done']],
    ['thinking that was cut short', [thought('h'), end('length')], ['output_text.done', 'output_item.done']],
  ])('tells a turn of %s in the interface’s order', (_name, batch, expected) => {
    const frames = render('spec', batch)
    expect(frames).not.toMatch(/^event:/m)
    expect(typesOf(read(frames))).toEqual(['created', 'in_progress', ...expected, 'completed'])
  })

  it('places its events where the items are in the response', () => {
    const events = read(render('spec', [thought('h'), text('a'), call(0), end('tool-calls')]))
    const output = events.at(-1)?.response?.output
    expect(events.slice(2, -1)).toMatchObject([
      { item_id: 'msg_0197-x_1', output_index: 1, content_index: 0, delta: 'a', logprobs: [] },
      { item_id: 'msg_0197-x_1', output_index: 1, content_index: 0, text: 'a', logprobs: [] },
      { output_index: 1, item: output?.[1] },
      { output_index: 2, item: output?.[2] },
    ])
  })
})
