import { parseConstraint, type ConstraintFields } from '#apps/simulator/constraints/parse-constraint.ts'
import { createScriptWriter, type ScriptWriter } from '#apps/simulator/persona/write-script.ts'
import type { Script } from '#apps/simulator/sampling/script.ts'
import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { createChatRenderer } from '#libs/chat-template/chat-renderer.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'

const EOS = 2_002

const tiny = await createModel(await readModelFolder('models/tiny'))
export const { tokenizer } = tiny
const renderer = createChatRenderer(tiny.template)
const FAMILIES = {
  plain: { reasoning: 'none', toolCalls: 'hermes' },
  thinking: { reasoning: { open: '<think>', close: '</think>' }, toolCalls: 'hermes' },
  bracketed: { reasoning: { open: '[THINK]', close: '[/THINK]' }, toolCalls: 'mistral' },
  harmony: { reasoning: 'harmony', toolCalls: 'harmony' },
  toolless: { reasoning: 'none', toolCalls: 'none' },
} as const
export type FamilyName = keyof typeof FAMILIES

export async function createWriter(family: FamilyName): Promise<ScriptWriter> {
  return await createScriptWriter({ tokenizer, family: FAMILIES[family], endIds: [EOS, 2_000] })
}

export type Chat = {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ToolDefinition[]
  /** null leaves the choice to the template. */
  readonly thinking?: boolean | null
  readonly family?: FamilyName
  readonly constraint?: ConstraintFields
}

export const user = (content: string): ChatMessage => ({ role: 'user', content })
export const system = (content: string): ChatMessage => ({ role: 'system', content })

export const weather: ToolDefinition = {
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
    required: ['city'],
  },
}
export const clock: ToolDefinition = { name: 'worldClock', description: null, parameters: null }

/** Returns the ids of a chat's prompt, as a worker sends them. */
export async function promptOf({ messages, tools = [], thinking = null }: Chat): Promise<Uint32Array> {
  const switches: Record<string, boolean> = thinking === null ? {} : { enable_thinking: thinking }
  return await tokenizer.encodePieces(renderer.render({ messages, tools, switches }))
}

/** Returns the persona's answer after these ids, without the end token. */
export async function continueFrom(
  promptIds: Uint32Array,
  chat: Pick<Chat, 'family' | 'constraint'>,
): Promise<number[]> {
  const constraint = parseConstraint(chat.constraint ?? {})
  const write = await createWriter(chat.family ?? 'plain')
  return readOut(await write({ promptIds, constraint, variant: 0 }))
}

export async function answerTo(chat: Chat): Promise<string> {
  return tokenizer.decode(await continueFrom(await promptOf(chat), chat))
}

function readOut(script: Script): number[] {
  const ids: number[] = []
  for (let id = script.at(0); id !== null; id = script.at(ids.length)) ids.push(id)
  return ids
}
