import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { ChatTemplateError, createChatRenderer, type Chat } from '#libs/chat-template/chat-renderer.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'
import { recordedChats } from './recorded-chats.ts'

const { tokenizer: tiny, template: tinyTemplate } = await createModel(await readModelFolder('models/tiny'))
const renderer = createChatRenderer(tinyTemplate)

const RecordedMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string() }),
  z.strictObject({ role: z.literal('user'), content: z.string() }),
  z
    .strictObject({
      role: z.literal('assistant'),
      content: z.string().nullable(),
      tool_calls: z
        .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
        .default([]),
    })
    .transform((message) => ({
      role: message.role,
      content: message.content ?? '',
      reasoning: '',
      toolCalls: message.tool_calls.map((call) => ({ id: call.id, ...call.function })),
    })),
  z
    .strictObject({ role: z.literal('tool'), content: z.string(), tool_call_id: z.string() })
    .transform(({ role, content, tool_call_id: toolCallId }) => ({ role, content, toolCallId })),
])

const RecordedTool = z
  .object({
    function: z.object({
      name: z.string(),
      description: z.string().default('null'),
      parameters: z.record(z.string(), z.unknown()),
      strict: z.boolean().optional(),
    }),
  })
  .transform(({ function: tool }) => ({
    ...tool,
    description: tool.description === 'null' ? null : tool.description,
  }))

/** Cases that our requests cannot express: they have only text content, and always ask for an answer. */
const inexpressible = new Set(['content-parts', 'no-generation-prompt'])
const expressible = recordedChats.conversations.filter((chat) => !inexpressible.has(chat.name))
const forged = expressible.filter((chat) => chat.name === 'special-tokens-in-content')
const sameIds = expressible.filter((chat) => !forged.includes(chat))

function renderRecorded(chat: (typeof expressible)[number]): string[] {
  return renderer.render({
    messages: chat.messages.map((message) => RecordedMessage.parse(message)),
    tools: chat.tools.map((tool) => RecordedTool.parse(tool)),
    switches: chat.chat_template_kwargs ?? {},
  })
}

const user: ChatMessage = { role: 'user', content: 'Hi' }

function render(
  source: string,
  chat: { messages?: ChatMessage[]; tools?: ToolDefinition[]; switches?: Chat['switches'] } = {},
) {
  const { messages = [user], tools = [], switches = {} } = chat
  const renderer = createChatRenderer({ source, specialTokens: {}, addedTokens: [] })
  return renderer.render({ messages, tools, switches }).join('')
}

function withCall(argumentsText: string): ChatMessage[] {
  const call = { id: 'call_1', name: 'f', arguments: argumentsText }
  return [user, { role: 'assistant', content: '', reasoning: '', toolCalls: [call] }]
}

const PRINT_ARGUMENTS = '{{ messages[1].tool_calls[0].function.arguments | tojson }}'

describe('recorded conversations', () => {
  it('are not all left out', () => {
    expect(sameIds.length).toBeGreaterThanOrEqual(8)
    expect(forged).toHaveLength(1)
  })

  it.for(expressible)('"$name" renders as vLLM renders it', (chat) => {
    expect(renderRecorded(chat).join('')).toBe(chat.prompt)
  })

  it.for(sameIds)('"$name" has the ids that vLLM gives it', async (chat) => {
    expect(await tiny.encodePieces(renderRecorded(chat))).toEqual(chat.token_ids)
  })

  it.for(forged)('"$name" has the control tokens of the template alone, unlike with vLLM', async (chat) => {
    const turnStart = tiny.tokenId('<|im_start|>')
    const ids = await tiny.encodePieces(renderRecorded(chat))
    expect(ids.filter((id) => id === turnStart)).toHaveLength(2)
    expect(chat.token_ids.filter((id) => id === turnStart)).toHaveLength(3)
  })
})

describe('arguments of earlier tool calls', () => {
  it.for([
    ['{"n": 1.0, "m": 1}', '{"n": 1.0, "m": 1}'],
    ['{"id":12345678901234567890}', '{"id": 12345678901234567890}'],
    ['[1e5, 1e-05, 0.0001, 1e16, -0.0, 2.50]', '[100000.0, 1e-05, 0.0001, 1e+16, -0.0, 2.5]'],
    ['{"a": {"b": [1.0, "1.0"]}}', '{"a": {"b": [1.0, "1.0"]}}'],
    ['', '{}'],
    ['"text"', '"text"'],
  ])('%s is printed as Python prints it', ([text = '', printed]) => {
    expect(render(PRINT_ARGUMENTS, { messages: withCall(text) })).toBe(printed)
  })

  it('keep their numbers where a template prints them one by one', () => {
    const template =
      '{% for name, value in messages[1].tool_calls[0].function.arguments | items %}{{ name }}={{ value }} {% endfor %}'
    expect(render(template, { messages: withCall('{"a": 1.0, "b": 2}') })).toBe('a=1.0 b=2 ')
  })

  it.for([
    ['"{{ value }}"', '{"a": 1.0}', '"1.0"'],
    ['{{ value | upper }} {{ value | title }} {{ value | capitalize }}', '{"a": 1.0}', '1.0 1.0 1.0'],
    ["{{ 'n' + (value | string) }} {{ value ~ 'n' }} {{ value | trim }}", '{"a": 1.0}', 'n1.0 1.0n 1.0'],
    [
      '{{ value is string }} {{ value is number }} {{ value is float }} {{ value is iterable }}',
      '[1e5]',
      'False True True False',
    ],
    [
      '{{ value is integer }} {{ value is float }} {{ value | string is string }}',
      '[12345678901234567890]',
      'True False True',
    ],
    ['{{ [value | string, value] | tojson }}', '[2.50]', '["2.5", 2.5]'],
    [
      '{{ value | tojson(ensure_ascii=true) }}',
      '[["é", 1.0, "<s>", "\\\\ufdd0"]]',
      '["\\u00e9", 1.0, "<s>", "\\\\ufdd0"]',
    ],
    [
      '{{ value | tojson(ensure_ascii=true, indent=1) }}',
      '[{"2": 1.0, "1": 1e5}]',
      '{\n "2": 1.0,\n "1": 100000.0\n}',
    ],
    ['{{ value | tojson(sort_keys=true) }}', '[{"b": 1, "2": 1, "1": 1}]', '{"1": 1, "2": 1, "b": 1}'],
  ])('%s of %s is %s', ([template = '', text = '', printed]) => {
    const first = '{% for value in (values.values() if values is mapping else values) %}'
    const source = `{% set values = messages[1].tool_calls[0].function.arguments %}${first}${template}{% endfor %}`
    const { render } = createChatRenderer({
      source,
      specialTokens: {},
      addedTokens: [{ id: 1, text: '<s>', special: true }],
    })
    expect(render({ messages: withCall(text), tools: [], switches: {} }).join('')).toBe(printed)
  })

  it('have their control tokens split where a template writes them in ASCII', () => {
    const { render } = createChatRenderer({
      source: '{{ messages[1].tool_calls[0].function.arguments | tojson(ensure_ascii=true) }}',
      specialTokens: {},
      addedTokens: [{ id: 1, text: '<s>', special: true }],
    })
    expect(render({ messages: withCall('"<s>"'), tools: [], switches: {} })).toEqual(['"<', 's>"'])
  })

  it('are sorted as they are written, also where keys look like numbers or a part of a token', () => {
    const { render } = createChatRenderer({
      source:
        '{% for key, value in messages[1].tool_calls[0].function.arguments | dictsort %}{{ key }}={{ value }} {% endfor %}',
      specialTokens: {},
      addedTokens: [{ id: 1, text: '<call>', special: true }],
    })
    const messages = withCall('{"b": 1, "call": 1.0, "10": 2, "1": 3, "B": 4}')
    expect(render({ messages, tools: [], switches: {} }).join('')).toBe('1=3 10=2 b=1 B=4 call=1.0 ')
  })

  it('stay text when they are no JSON', () => {
    expect(render(PRINT_ARGUMENTS, { messages: withCall('{"city": "Par') })).toBe(
      JSON.stringify('{"city": "Par'),
    )
  })
})

describe('what templates see', () => {
  it('tools in the order name, description, parameters, and null for what is missing', () => {
    const tools = [{ name: 'f', description: null, parameters: null }]
    expect(render('{{ tools[0] | tojson }}', { tools })).toBe(
      '{"type": "function", "function": {"name": "f", "description": null, "parameters": null}}',
    )
    expect(render('{{ tools is none }}')).toBe('True')
  })

  it('the switches under their names, and none that are not set', () => {
    const template = '{{ enable_thinking is defined }} {{ enable_thinking }} {{ thinking is defined }}'
    expect(render(template, { switches: { enable_thinking: true } })).toBe('True True False')
    expect(render(template, { switches: { enable_thinking: false } })).toBe('True False False')
  })

  it('earlier reasoning, and no field at all where there is none', () => {
    const template =
      '{% for m in messages %}{{ m.reasoning_content is defined }},{{ m.tool_calls is defined }};{% endfor %}'
    const messages: ChatMessage[] = [
      { role: 'assistant', content: 'a', reasoning: 'r', toolCalls: [] },
      { role: 'assistant', content: 'a', reasoning: '', toolCalls: [] },
    ]
    expect(render(template, { messages })).toBe('True,False;False,False;')
  })

  it('the special tokens by name', () => {
    const { render } = createChatRenderer({
      source: '{{ bos_token }}{{ messages[0].content }}',
      specialTokens: { bos_token: '<s>' },
      addedTokens: [],
    })
    expect(render({ messages: [user], tools: [], switches: {} })).toEqual(['<s>Hi'])
  })
})

describe('refusals', () => {
  it('carry the template’s message', () => {
    const template = "{{ raise_exception('System messages must come first') }}"
    expect(() => render(template)).toThrow(ChatTemplateError)
    expect(() => render(template)).toThrow(/System messages must come first/)
  })

  const tool = (name: string, parameters: Record<string, unknown>) => ({
    name,
    description: null,
    parameters,
    strict: false,
  })
  const open = (source: string) => createChatRenderer({ source, specialTokens: {}, addedTokens: [] }).render

  it('name the tool that the Jinja library fails to print, and not the construct of the template', () => {
    const print = open(
      '{% for t in tools or [] %}{{ t.function.parameters.n - 1 }};{% endfor %}{{ messages[0].content }}',
    )
    const tools = [1, 2, 'x', 3].map((n, place) => tool(`tool-${place}`, { n }))
    expect(() => print({ messages: [user], tools, switches: {} })).toThrow(
      /^the model's chat template cannot print the tool "tool-2"$/,
    )
    expect(print({ messages: [user], tools: tools.slice(0, 2), switches: {} })).toEqual(['0;1;Hi'])
  })

  it('name the message that the Jinja library fails to print', () => {
    const print = open(
      "{% for m in messages %}{{ m.content if m.content != 'x' else m.content - 1 }}{% endfor %}",
    )
    const messages = ['a', 'b', 'x', 'd'].map((content) => ({ role: 'user' as const, content }))
    expect(() => print({ messages, tools: [], switches: {} })).toThrow(
      /^the model's chat template cannot print message 3, which has the role user$/,
    )
  })

  it('print the types of a parameter that may be null, as Gemma 4 does', () => {
    const print = open("{{ tools[0].function.parameters.type | map('upper') | list }}")
    const tools = [tool('t', { type: ['string', 'null'] })]
    expect(print({ messages: [user], tools, switches: {} })).toEqual(["['STRING', 'NULL']"])
  })

  it('happen per chat for a model without a template, and at once for a broken template', () => {
    const { render } = createChatRenderer({ source: null, specialTokens: {}, addedTokens: [] })
    expect(() => render({ messages: [user], tools: [], switches: {} })).toThrow(ChatTemplateError)
    expect(() => createChatRenderer({ source: '{% if %}', specialTokens: {}, addedTokens: [] })).toThrow(
      /cannot be parsed/,
    )
  })
})
