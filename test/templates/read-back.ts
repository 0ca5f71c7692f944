import { createOutputParser } from '#libs/dialect/parse-output.ts'
import { startsInReasoning } from '#libs/dialect/reasoning/starts-in-reasoning.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { createChatRenderer } from '#libs/chat-template/chat-renderer.ts'
import type { Model } from '#libs/model-files/model.ts'

const ARGUMENTS = { city: 'Zürich "West"\n<3', days: 3, exact: true }
const TOOL: ToolDefinition = {
  name: 'get_weather',
  description: 'The weather.',
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'Where.' },
      days: { type: 'integer', description: 'How many.' },
      exact: { type: 'boolean', description: 'To the degree.' },
    },
  },
}
const ASKED: ChatMessage = { role: 'user', content: 'How is it?' }
const ANSWERED: readonly ChatMessage[] = [
  {
    role: 'assistant',
    content: '',
    reasoning: '',
    toolCalls: [{ id: 'call00001', name: TOOL.name, arguments: JSON.stringify(ARGUMENTS) }],
  },
  { role: 'tool', toolCallId: 'call00001', content: 'Sunny.' },
]

/**
 * Checks that the family's parser reads the call that the template writes into a conversation. A model that was trained
 * on such conversations writes its calls in the same form. Returns null if the parser reads the same call, else the
 * call that it reads. Throws a ChatTemplateError if the template fails.
 */
export async function readBack({ tokenizer, template }: Model, family: ModelFamily): Promise<string | null> {
  const chats = createChatRenderer(template)
  const render = (messages: readonly ChatMessage[]) =>
    chats.render({ messages, tools: [TOOL], switches: family.effort.off }).join('')
  const prompt = render([ASKED])
  const conversation = render([ASKED, ...ANSWERED])
  const begin = turnStart(prompt, conversation)
  const { reasoning } = family
  const parser = createOutputParser({
    generationId: 'read-back',
    tokenizer,
    endIds: new Set(),
    family,
    tools: [TOOL],
    singleCall: true,
    stop: [],
    startsInReasoning:
      typeof reasoning === 'object' && startsInReasoning(prompt.slice(0, begin), reasoning.open),
    earlierCalls: 0,
  })
  const { events } = parser.push(await tokenizer.encode(conversation.slice(begin)))
  let name = ''
  let args = ''
  for (const event of [...events, ...parser.finish()]) {
    if (event.type === 'tool-call-start') name = event.name
    if (event.type === 'tool-call-delta') args += event.text
  }
  if (name === TOOL.name && isSame(args)) return null
  return name === '' ? 'no call' : `${name}(${args})`
}

function isSame(args: string): boolean {
  try {
    const read: unknown = JSON.parse(args)
    return Object.entries(ARGUMENTS).every(([key, value]) => Object(read)[key] === value)
  } catch {
    return false
  }
}

/**
 * Returns the index at which conversation and prompt begin to differ, moved back to the beginning of the tag around it.
 */
function turnStart(prompt: string, conversation: string): number {
  let length = 0
  while (length < prompt.length && prompt[length] === conversation[length]) length += 1
  const tag = prompt.lastIndexOf('<', length - 1)
  return tag > prompt.lastIndexOf('>', length - 1) ? tag : length
}
