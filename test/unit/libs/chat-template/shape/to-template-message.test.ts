import { describe, expect, it } from 'vitest'
import { PLAIN_SHAPE, type TemplateShape } from '#libs/chat-template/shape/template-shape.ts'
import { toTemplateMessage, type SafeValues } from '#libs/chat-template/shape/to-template-message.ts'

const safe: SafeValues = {
  text: (text) => text,
  json: (json) => JSON.parse(json),
  exactJson: (json) => JSON.parse(json),
}

function toMessage(
  shape: Partial<TemplateShape>,
  message: { text?: string; reasoning?: string; args?: string },
) {
  const { text = '', reasoning = '', args } = message
  const toolCalls = args === undefined ? [] : [{ id: '1', name: 'f', arguments: args }]
  return toTemplateMessage(
    { role: 'assistant', content: text, reasoning, toolCalls },
    { ...PLAIN_SHAPE, ...shape },
    { safe, writeCalls: (calls) => calls.map(({ name, json }) => `<${name} ${json}>`).join('') },
  )
}

const argumentsOf = (shape: Partial<TemplateShape>, args: string): unknown =>
  Object(toMessage(shape, { args })).tool_calls[0].function.arguments

const AS_TEXT: Partial<TemplateShape> = { calls: { form: 'text', empty: null, namedResults: false } }

describe('arguments', () => {
  it.each<[string, unknown, unknown, unknown]>([
    ['{"a": 1}', { a: 1 }, '{"a": 1}', { a: 1 }],
    ['', {}, '{}', {}],
    [' null ', {}, '{}', {}],
    ['{"a": "cut', '{"a": "cut', '{"a": "cut', { arguments: '{"a": "cut' }],
    ['["a"]', ['a'], '["a"]', { arguments: '["a"]' }],
    ['"a"', 'a', '"a"', { arguments: '"a"' }],
  ])('%s are an object, a text, or one argument', (args, ...expected) => {
    const [object, text, wrapped] = expected
    expect(argumentsOf({}, args)).toEqual(object)
    expect(argumentsOf(AS_TEXT, args)).toEqual(text)
    expect(argumentsOf({ otherArguments: 'wrapped' }, args)).toEqual(wrapped)
  })

  it('that are no object and cannot be printed are refused by name', () => {
    const shape: Partial<TemplateShape> = { otherArguments: null }
    expect(() => argumentsOf(shape, '{"a": "cut')).toThrow(
      'cannot print a call whose arguments are no JSON object',
    )
    expect(argumentsOf(shape, '{}')).toEqual({})
  })
})

it('calls are written behind the text where the template prints none', () => {
  const calls = { form: 'written', empty: '', namedResults: false } as const
  expect(toMessage({ calls }, { text: 'a ', args: '{"b": 1.0}' })).toEqual({
    role: 'assistant',
    content: 'a <f {"b": 1.0}>',
  })
  expect(toMessage({ calls }, { args: '{"cut' })).toMatchObject({ content: '<f {"arguments":"{\\"cut"}>' })
})

it('a message of calls alone has the content with which the template prints them', () => {
  expect(toMessage({}, { args: '{}' })).toMatchObject({ content: '' })
  expect(toMessage(AS_TEXT, { args: '{}' })).toMatchObject({ content: null })
  expect(toMessage(AS_TEXT, { text: 'a', args: '{}' })).toMatchObject({ content: 'a' })
})

it.each<[TemplateShape['reasoning'], object]>([
  ['both', { content: 'a', reasoning: 'r', reasoning_content: 'r' }],
  ['thinking', { content: 'a', thinking: 'r' }],
  ['tool_plan', { content: 'a', tool_plan: 'r' }],
  [
    'parts',
    {
      content: [
        { type: 'thinking', thinking: 'r' },
        { type: 'text', text: 'a' },
      ],
    },
  ],
])('reasoning has the name that the template reads: %s', (reasoning, fields) => {
  expect(toMessage({ reasoning }, { text: 'a', reasoning: 'r' })).toEqual({ role: 'assistant', ...fields })
  expect(toMessage({ reasoning }, { text: 'a' })).toEqual({ role: 'assistant', content: 'a' })
})

it('a result has the name of its call where the template needs it', () => {
  const result = { role: 'tool', content: 'sunny', toolCallId: '1', callName: 'f' } as const
  const options = { safe, writeCalls: null }
  expect(toTemplateMessage(result, PLAIN_SHAPE, options)).toEqual({
    role: 'tool',
    content: 'sunny',
    tool_call_id: '1',
  })
  const calls = { form: 'object', empty: '', namedResults: true } as const
  expect(toTemplateMessage(result, { ...PLAIN_SHAPE, calls }, options)).toMatchObject({ name: 'f' })
})
