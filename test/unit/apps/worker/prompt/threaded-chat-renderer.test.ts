import { pino } from 'pino'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { createThreadedChatRenderer } from '#apps/worker/prompt/threaded-chat-renderer.ts'
import { ChatTemplateError, createChatRenderer, type Chat } from '#libs/chat-template/chat-renderer.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'

const { template } = await createModel(await readModelFolder('models/tiny'))
const renderer = createChatRenderer(template)

function openRenderer(source = template.source) {
  const opened = createRenderer(source)
  onTestFinished(async () => await opened.close())
  return opened
}

function createRenderer(source = template.source) {
  return createThreadedChatRenderer(
    { template: { ...template, source }, toolCalls: 'hermes' },
    pino({ level: 'silent' }),
  )
}

/** The renderer of the large chats, whose thread takes longer to start than to render one of them. */
const shared = createRenderer()
afterAll(async () => await shared.close())

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
  'a long id of a call': chat({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: '',
        reasoning: '',
        toolCalls: [{ id: '<|'.repeat(10_000), name: 'f', arguments: '{}' }],
      },
      { role: 'tool', content: 'y', toolCallId: '<|'.repeat(10_000) },
    ],
  }),
  'a long name of a call': chat({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: '',
        reasoning: '',
        toolCalls: [{ id: 'a', name: 'f'.repeat(20_000), arguments: '{}' }],
      },
    ],
  }),
  'a long message': chat({ messages: [{ role: 'user', content: 'some words '.repeat(20_000) }] }),
}

it.each(Object.entries(LARGE))(
  'renders %s as the renderer does, and not on the event loop',
  async (_name, large) => {
    const { render } = shared
    const rendering = render(large)
    expect(await Promise.race([rendering, Promise.resolve('later')])).toBe('later')
    expect(await rendering).toEqual(renderer.render(large))
  },
)

it('renders small chats at once, on the event loop', async () => {
  const { render } = openRenderer()
  expect(await Promise.race([render(chat()), Promise.resolve('later')])).toEqual(renderer.render(chat()))
})

it('reports a refusal of the template unchanged, for small and large chats', async () => {
  const { render } = openRenderer("{{ raise_exception('roles must alternate') }}")
  for (const refused of [chat(), ...Object.values(LARGE)]) {
    const error = await render(refused).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ChatTemplateError)
    expect(error).toMatchObject({
      message: expect.stringMatching(/refused these messages: roles must alternate/),
    })
  }
})

it('renders a large chat while another one takes long', async () => {
  const counting =
    '{% for i in range(messages[0].content|length * 3) %}{% if i % 7 == 8 %}x{% endif %}{% endfor %}done'
  const { render } = openRenderer(`{% if tools %}${counting}{% else %}done{% endif %}`)
  const content = 'x'.repeat(100_000)
  const messages: Chat['messages'] = [{ role: 'user', content }]
  const long = render(chat({ messages, tools: [tool] }))
  const short = render(chat({ messages }))
  const ended = long.then(
    () => 'the long one',
    () => 'the long one',
  )
  expect(await Promise.race([ended, short.then(() => 'the short one')])).toBe('the short one')
})
