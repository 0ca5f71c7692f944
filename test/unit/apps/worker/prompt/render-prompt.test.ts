import { describe, expect, it } from 'vitest'
import { createRenderPrompt } from '#apps/worker/prompt/render-prompt.ts'
import { createChatRenderer, type Chat } from '#libs/chat-template/chat-renderer.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const { tokenizer: tiny, template } = await createModel(await readModelFolder('models/tiny'))
const plain = createChatRenderer(template)
const renderer = { ...plain, render: async (chat: Chat) => plain.render(chat) }
const WINDOW = 512

/** Renders one message, and counts how much of it was tokenized. */
async function promptOf(content: string) {
  let characters = 0
  const tokenizer = {
    ...tiny,
    async encodePieces(pieces: readonly string[]) {
      for (const piece of pieces) characters += piece.length
      return await tiny.encodePieces(pieces)
    },
  }
  const family = { callIds: 'opaque' as const, effort: { off: {}, low: {}, high: {}, max: {} } }
  const job = generationJob()
  if (job.request.kind !== 'chat') throw new Error('a chat is rendered')
  const request = { ...job.request, messages: [{ role: 'user' as const, content }] }
  const prompt = await createRenderPrompt({ renderer, tokenizer, family })({ ...job, request }, WINDOW)
  const pieces = plain.render({ messages: request.messages, tools: [], switches: {} })
  return { prompt, characters, whole: await tiny.encodePieces(pieces) }
}

describe('a prompt that is far longer than the window', () => {
  it.each([
    ['words', 'some words '.repeat(50_000)],
    ['torn texts', '<|im_start|>'.repeat(50_000)],
    ['characters of two units', '😀'.repeat(200_000)],
  ])('%s: only its beginning is tokenized, and is too long as well', async (_name, content) => {
    const { prompt, characters } = await promptOf(content)
    expect(prompt.ids.length).toBeGreaterThan(2 * WINDOW)
    expect(characters).toBeLessThan(content.length / 4)
  })
})

describe('a raw prompt', () => {
  const family = { callIds: 'opaque' as const, effort: { off: {}, low: {}, high: {}, max: {} } }
  const rawIds = async (content: string, addsSpecialTokens: boolean) => {
    const tokenizer = {
      ...tiny,
      encodeWhole: async (text: string) => Uint32Array.from([7, ...(await tiny.encode(text))]),
    }
    const job = generationJob()
    if (job.request.kind !== 'chat') throw new Error('a chat is rendered')
    const messages = [{ role: 'user' as const, content }]
    const request = { ...job.request, messages, rawPrompt: { addsSpecialTokens } }
    const { ids } = await createRenderPrompt({ renderer, tokenizer, family })({ request }, WINDOW)
    return Array.from(ids)
  }

  it('is not rendered; special tokens that the caller writes become their ids', async () => {
    const ids = Array.from(await tiny.encode('one <|im_end|>'))
    expect(ids.at(-1)).toBe(2_002)
    expect(await rawIds('one <|im_end|>', false)).toEqual(ids)
    expect(await rawIds('one <|im_end|>', true)).toEqual([7, ...ids])
  })

  it('is tokenized in part if it is far longer than the window', async () => {
    expect((await rawIds('some words '.repeat(50_000), true)).length).toBeLessThan(50_000)
  })
})

it('calls that a caller replays get ids that the family accepts', async () => {
  const job = generationJob()
  if (job.request.kind !== 'chat') throw new Error('a chat is rendered')
  const messages = [
    {
      role: 'assistant' as const,
      content: '',
      reasoning: '',
      toolCalls: [{ id: 'call_1', name: 'f', arguments: '{}' }],
    },
    { role: 'tool' as const, toolCallId: 'call_1', content: 'x' },
  ]
  const rendered: Chat[] = []
  const render = async (chat: Chat) => {
    rendered.push(chat)
    return ['x']
  }
  const family = { callIds: 'nine-characters' as const, effort: { off: {}, low: {}, high: {}, max: {} } }
  const renderPrompt = createRenderPrompt({ renderer: { ...renderer, render }, tokenizer: tiny, family })
  await renderPrompt({ ...job, request: { ...job.request, messages } }, WINDOW)
  const [call, result] = rendered[0]?.messages ?? []
  expect(result).toMatchObject({ toolCallId: expect.stringMatching(/^[0-9a-f]{9}$/) })
  expect(call).toMatchObject({ toolCalls: [{ id: result?.role === 'tool' ? result.toolCallId : '' }] })
})

it.each([
  ['that adds descriptions to a text', "{{ '// ' + tool.description }}", '// ;// what;'],
  ['that prints whatever they are', '{{ tool.description | tojson }}', 'null;"what";'],
])('a template %s takes a tool without one', async (_name, printed, expected) => {
  const source = `{% for t in tools %}{% set tool = t.function %}${printed};{% endfor %}`
  const own = createChatRenderer({ ...template, source })
  const job = generationJob()
  if (job.request.kind !== 'chat') throw new Error('a chat is rendered')
  const tools = [null, 'what'].map((description) => ({
    name: 'f',
    description,
    parameters: {},
  }))
  const { ids } = await createRenderPrompt({
    renderer: { ...own, render: async (chat: Chat) => own.render(chat) },
    tokenizer: tiny,
    family: { callIds: 'opaque', effort: { off: {}, low: {}, high: {}, max: {} } },
  })({ ...job, request: { ...job.request, tools } }, WINDOW)
  expect(tiny.decode(ids)).toBe(expected)
})

it('a template that adds the default of an enum to a text takes every default', async () => {
  const source = `{% for t in tools %}{% for key, value in t.function.parameters.properties.items() %}{{ value.enum | join('|') + ', default: ' + value.default }};{% endfor %}{% endfor %}`
  const own = createChatRenderer({ ...template, source })
  const job = generationJob()
  if (job.request.kind !== 'chat') throw new Error('a chat is rendered')
  const properties = {
    level: { type: 'integer', enum: [1, 2], default: 1 },
    unit: { enum: ['c', null], default: null },
    city: { enum: ['Paris'], default: 'Paris' },
  }
  const tools = [{ name: 'f', description: 'what', parameters: { type: 'object', properties } }]
  const { ids } = await createRenderPrompt({
    renderer: { ...own, render: async (chat: Chat) => own.render(chat) },
    tokenizer: tiny,
    family: { callIds: 'opaque', effort: { off: {}, low: {}, high: {}, max: {} } },
  })({ ...job, request: { ...job.request, tools } }, WINDOW)
  expect(tiny.decode(ids)).toBe('1|2, default: 1;c|None, default: null;Paris, default: Paris;')
})

it('a prompt of many characters and few tokens is tokenized whole', async () => {
  const content = '#'.repeat(20_000)
  const { prompt, whole } = await promptOf(content)
  expect(prompt.ids).toEqual(whole)
})

it('a prompt that may fit is tokenized once', async () => {
  const content = 'a few words '.repeat(40)
  const { prompt, characters, whole } = await promptOf(content)
  expect(prompt.ids).toEqual(whole)
  expect(characters).toBeLessThan(2 * content.length)
})
