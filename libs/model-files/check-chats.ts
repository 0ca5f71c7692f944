import { z } from 'zod'
import { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import {
  ChatTemplateError,
  createChatRenderer,
  type ChatRenderer,
} from '#libs/chat-template/chat-renderer.ts'
import { PLAIN_SHAPES } from '#libs/chat-template/shape/template-shape.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { Model } from './model.ts'

/** Conversations as transformers renders them, written by `scripts/python/references/render_chats.py`. */
export const ChatReference = z.strictObject({
  madeBy: z.string(),
  /** The local time of rendering, for templates that print the date. */
  now: z.string(),
  cases: z
    .array(
      z.object({
        name: z.string(),
        messages: z.array(ChatMessage),
        tools: z.array(ToolDefinition),
        switches: z.record(z.string(), z.union([z.boolean(), z.string(), z.number()])),
        /** `prompt` and `ids` are absent if the template refuses the conversation. */
        prompt: z.string().optional(),
        ids: z.array(z.int()).optional(),
        refused: z.string().optional(),
      }),
    )
    .min(1),
})
export type ChatReference = z.infer<typeof ChatReference>

type Case = ChatReference['cases'][number]

/** The first difference between a prompt of the model and its reference. */
export type ChatDifference = {
  readonly name: string
  readonly switches: Case['switches']
  readonly problem: string
}

/**
 * Renders every conversation of the reference without adapting it to the template, and compares the token ids of its
 * prompt with the ids of the reference. Returns the differences. A part of a conversation that the template drops or
 * refuses is no difference, because transformers drops or refuses it too.
 */
export async function checkChats(
  { tokenizer, template }: Pick<Model, 'tokenizer' | 'template'>,
  reference: ChatReference,
): Promise<ChatDifference[]> {
  const now = new Date(reference.now)
  const renderer = createChatRenderer({ ...template, shapes: PLAIN_SHAPES }, { now: () => now })
  const differences: ChatDifference[] = []
  for (const chat of reference.cases) {
    const problem = await findProblem(chat, tokenizer, renderer)
    if (problem !== null) differences.push({ name: chat.name, switches: chat.switches, problem })
  }
  return differences
}

async function findProblem(chat: Case, tokenizer: Tokenizer, renderer: ChatRenderer): Promise<string | null> {
  const pieces = tryToRender(chat, renderer)
  if (pieces instanceof ChatTemplateError) {
    // The reason of the Jinja library, which callers do not see, is what the owner of a template needs.
    const reason = pieces.cause instanceof Error ? pieces.cause.message : pieces.message
    return chat.refused === undefined ? `only here: ${reason}` : null
  }
  if (chat.ids === undefined) return `only transformers refuses it: ${chat.refused ?? 'no reason given'}`
  const ids = await tokenizer.encodePieces(pieces)
  if (ids.length === chat.ids.length && chat.ids.every((id, i) => id === ids[i])) return null
  return describe(chat.prompt ?? '', pieces.join('')) ?? describeIds(chat.ids, ids, tokenizer)
}

function tryToRender(
  { messages, tools, switches }: Case,
  renderer: ChatRenderer,
): string[] | ChatTemplateError {
  try {
    return renderer.render({ messages, tools, switches })
  } catch (error) {
    if (error instanceof ChatTemplateError) return error
    throw error
  }
}

const SHOWN = 60

function describe(expected: string, found: string): string | null {
  if (expected === found) return null
  const length = Math.min(expected.length, found.length)
  let at = 0
  while (at < length && expected[at] === found[at]) at += 1
  const show = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 20), at + SHOWN))
  return `the prompt differs at character ${at}: transformers has ${show(expected)}, here it is ${show(found)}`
}

function describeIds(expected: readonly number[], found: Uint32Array, tokenizer: Tokenizer): string {
  const place = expected.findIndex((id, i) => id !== found[i])
  const at = place === -1 ? expected.length : place
  const show = (ids: ArrayLike<number>) => {
    const shown = Array.from(ids).slice(at, at + 5)
    return `${shown.join(' ') || 'none'} (${JSON.stringify(tokenizer.decode(shown))})`
  }
  return `the prompts are equal, their ids differ at token ${at}: transformers has ${show(expected)}, here it is ${show(found)}`
}
