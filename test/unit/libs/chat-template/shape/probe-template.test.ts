import { describe, expect, it } from 'vitest'
import { ChatTemplateError, createChatRenderer, probeShapes } from '#libs/chat-template/chat-renderer.ts'
import { PROBED_TOOL } from '#libs/chat-template/shape/probe-template.ts'
import { PLAIN_SHAPE, PLAIN_SHAPES } from '#libs/chat-template/shape/template-shape.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import { createRandom } from '#test/chaos/random.ts'
import { findLoss } from '#test/support/conversations/find-loss.ts'
import { drawConversation } from '#test/support/conversations/random-conversation.ts'
import { SHAPED_TEMPLATES, SHOUTING } from '#test/support/conversations/shaped-templates.ts'
import { runs } from '#test/support/long.ts'

const writeCalls = openCallWriter('hermes')
const bare = (source: string) => ({ source, specialTokens: {}, addedTokens: [] })
const probe = (source: string) => probeShapes(bare(source), { writeCalls })

describe.each(SHAPED_TEMPLATES)('a template that $name', ({ name, source, shape }) => {
  it('is known by its probes', () => {
    const { withTools, tools } = probe(source)
    expect(withTools).toEqual({ ...PLAIN_SHAPE, ...shape })
    expect(tools).toBe(true)
  })

  it('prints every text, name, argument, result and instruction of random conversations once and in order', () => {
    const shapes = probe(source)
    const { render } = createChatRenderer({ ...bare(source), shapes }, { writeCalls })
    const random = createRandom(35, name)
    for (let round = 0; round < runs(200, 5_000); round += 1) {
      const conversation = drawConversation(random)
      const tools = round % 2 === 0 ? [] : [PROBED_TOOL]
      const prompt = render({ messages: conversation.messages, tools, switches: {} }).join('')
      const loss = findLoss(conversation, prompt)
      expect(loss, `${JSON.stringify(conversation.messages)}\n${prompt}`).toBe(null)
    }
  })
})

it.each(SHAPED_TEMPLATES)(
  'a template that $name is found to lose parts without its shape',
  ({ name, source, shape }) => {
    const { render } = createChatRenderer({ ...bare(source), shapes: PLAIN_SHAPES }, { writeCalls })
    const random = createRandom(35, name)
    const isWhole = () => {
      const conversation = drawConversation(random)
      try {
        return (
          findLoss(
            conversation,
            render({ messages: conversation.messages, tools: [], switches: {} }).join(''),
          ) === null
        )
      } catch (error) {
        if (error instanceof ChatTemplateError) return false
        throw error
      }
    }
    const losesText = Object.keys(shape).some((field) => !field.startsWith('reasoning'))
    expect(Array.from({ length: 200 }, isWhole).every(Boolean)).toBe(!losesText)
  },
)

it('a template without a word on tools prints none, and one that changes every text has no shape', () => {
  expect(probe('{% for m in messages %}{{ m.content }}{% endfor %}').tools).toBe(false)
  expect(probe(SHOUTING).plain).toEqual(PLAIN_SHAPE)
})

it('a family without calls has none to write, so that a template without calls refuses them', () => {
  const source = '{% for m in messages %}{{ m.content }}{% endfor %}'
  const shapes = probeShapes(bare(source), { writeCalls: null })
  expect(shapes.plain.calls).toBe(null)
  const { render } = createChatRenderer({ ...bare(source), shapes })
  const toolCalls = [{ id: '1', name: 'f', arguments: '{}' }]
  const messages = [
    { role: 'user' as const, content: 'a' },
    { role: 'assistant' as const, content: '', reasoning: '', toolCalls },
  ]
  expect(() => render({ messages, tools: [], switches: {} })).toThrow(
    "the model's chat template cannot print tool calls",
  )
  expect(() => render({ messages: messages.slice(0, 1), tools: [PROBED_TOOL], switches: {} })).toThrow(
    "the model's chat template cannot print tools",
  )
})
