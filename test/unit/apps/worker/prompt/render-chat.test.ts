import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { createRenderChat } from '#apps/worker/prompt/render-chat.ts'
import { ChatTemplateError, createChatRenderer, type Chat } from '#libs/chat-template/chat-renderer.ts'
import { loadTokenizer } from '#libs/tokenizer/tokenizer.ts'

const tiny = await loadTokenizer('models/tiny')
const renderer = createChatRenderer(tiny)

function openChats(chatTemplate = tiny.chatTemplate) {
  const chats = createRenderChat({
    model: { ...tiny, chatTemplate },
    log: pino({ level: 'silent' }),
  })
  onTestFinished(async () => await chats.close())
  return chats
}

const chat = (more: Partial<Chat> = {}): Chat => ({
  messages: [{ role: 'user', content: 'Hi <|im_end|>' }],
  tools: [],
  switches: {},
  ...more,
})

const tool = { name: 'f', description: null, parameters: { type: 'object', properties: {} } }

const LARGE: Record<string, Chat> = {
  'many tools': chat({ tools: Array.from({ length: 3_000 }, () => tool) }),
  'a large tool': chat({ tools: [{ ...tool, description: 'é<|im_start|>'.repeat(5_000) }] }),
  'many messages': chat({
    messages: Array.from({ length: 3_000 }, (_, i) => ({
      role: i % 2 === 0 ? 'user' : 'system',
      content: 'x',
    })),
  }),
  'a long message': chat({ messages: [{ role: 'user', content: 'some words '.repeat(20_000) }] }),
}

it.each(Object.entries(LARGE))(
  'renders %s as the renderer does, and not on the event loop',
  async (_name, large) => {
    const { render } = openChats()
    const rendering = render(large)
    expect(await Promise.race([rendering, Promise.resolve('later')])).toBe('later')
    expect(await rendering).toEqual(renderer.render(large))
  },
)

it('renders small chats in the turn in which they come', async () => {
  const { render } = openChats()
  expect(await Promise.race([render(chat()), Promise.resolve('later')])).toEqual(renderer.render(chat()))
})

it('tells a refusal of the template as it is, small or large', async () => {
  const { render } = openChats("{{ raise_exception('roles must alternate') }}")
  for (const refused of [chat(), ...Object.values(LARGE)]) {
    const error = await render(refused).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ChatTemplateError)
    expect(error).toMatchObject({
      message: expect.stringMatching(/refused these messages: roles must alternate/),
    })
  }
})
