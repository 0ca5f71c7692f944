import { describe, expect, it } from 'vitest'
import { createHarmonyMessages } from '#libs/dialect/syntax/harmony-messages.ts'
import { everyCut } from '../cuts.ts'

type Parts = { reasoning: string; text: string; calls: [name: string, args: string][] }

function parse(pieces: readonly string[], { tools = true, single = false } = {}): Parts {
  const parts: Parts = { reasoning: '', text: '', calls: [] }
  const parser = createHarmonyMessages(
    {
      onReasoning: (text) => (parts.reasoning += text),
      onText: (text) => (parts.text += text),
      onStart: (name) => parts.calls.push([name, '']),
      onArguments(text) {
        const call = parts.calls.at(-1)
        if (call === undefined) throw new Error('arguments before a call')
        call[1] += text
      },
    },
    { tools, single },
  )
  for (const piece of pieces) parser.push(piece)
  parser.finish()
  return parts
}

const WELL_FORMED: [string, Partial<Parts>][] = [
  [
    '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>',
    { reasoning: 'Hm.', text: 'Hello' },
  ],
  [
    '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
    { calls: [['f', '{"a": 1}']] },
  ],
  // The control token ends the recipient's name, with or without a blank before it.
  [
    '<|channel|>commentary to=functions.f<|constrain|>json<|message|>{"a": 1}<|call|>',
    { calls: [['f', '{"a": 1}']] },
  ],
  [
    '<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>',
    { text: 'I look.', calls: [['f', '{}']] },
  ],
  // The recipient may come before the channel, in the header that the template has begun.
  [' to=functions.f<|channel|>commentary json<|message|>{}<|call|>', { calls: [['f', '{}']] }],
  ['<|channel|>commentary to=functions.f<|message|><|call|>', { calls: [['f', '{}']] }],
  [
    '<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|>',
    { reasoning: 'a\n\nb' },
  ],
]

const MALFORMED: [string, Partial<Parts>][] = [
  // A message with a recipient is a call in every channel, and control tokens end every name.
  ['<|channel|>analysis to=functions.f<|message|>{}<|call|>', { calls: [['f', '{}']] }],
  ['<|channel|>commentary to=functions.f<|channel|>commentary<|message|>x<|end|>', { text: 'x' }],
  ['<|start|>assistant to=f<|channel|>commentary<|message|>{}', { calls: [['f', '{}']] }],
  ['<|channel|>final to=assistant<|message|>Hi', { text: 'Hi' }],
  // No end, no header, no message.
  ['<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Hi', { reasoning: 'Hm', text: 'Hi' }],
  ['<|channel|>analysis<|message|>Hm<|end|>\nHi', { reasoning: 'Hm', text: 'Hi' }],
  ['Just text, to=nobody', { text: 'Just text, to=nobody' }],
  ['assistant', { text: 'assistant' }],
  ['assistants help', { text: 'assistants help' }],
  ['a < b and <|x|>', { text: 'a < b and <|x|>' }],
  ['<|message|>Hi<|message|>!', { text: 'Hi!' }],
  ['<|end|><|end|><|message|>Hi', { text: 'Hi' }],
  ['', {}],
  // Cut short.
  ['<|channel|>fin', {}],
  ['<|channel|>final<|message|>a <|en', { text: 'a <|en' }],
  ['<|channel|>commentary to=functions.f<|message|>{"a": "<|ca', { calls: [['f', '{"a": "']] }],
]

describe('wherever the output is cut', () => {
  it.for([...WELL_FORMED, ...MALFORMED])('%j', ([output, parts]) => {
    for (const pieces of everyCut(output)) {
      expect(parse(pieces)).toEqual({ reasoning: '', text: '', calls: [], ...parts })
    }
  })
})

it('an endless header is an answer, so that no text is buffered for ever', () => {
  const words = 'word '.repeat(400)
  expect(parse(`<|channel|>final ${words}`.match(/.{1,3}/g) ?? []).text).toBe(`final ${words}`)
})

it('a message to a tool is answer or reasoning where the request has no tools', () => {
  expect(parse(['<|channel|>commentary to=functions.f<|message|>{}'], { tools: false })).toMatchObject({
    text: '{}',
    calls: [],
  })
  expect(parse(['<|channel|>analysis to=python<|message|>1+1'], { tools: false }).reasoning).toBe('1+1')
})
