import type { Logger } from '#libs/telemetry/logger.ts'
import {
  ChatTemplateError,
  createChatRenderer,
  type Chat,
  type ChatRenderer,
  type ChatRendererOptions,
} from '#libs/chat-template/chat-renderer.ts'
import { createTaskThread, TaskThreadError } from '#libs/threads/task-thread.ts'
import type { Rendered } from './thread.ts'

export type RenderChat = {
  /** As the renderer does it, wherever that is best done. Throws a ChatTemplateError. */
  render(chat: Chat): Promise<string[]>
  isForged: ChatRenderer['isForged']
  close(): Promise<void>
}

/**
 * More than the slots of an engine, so that nobody is refused. What the longest bodies hold is rendered in a
 * second; a template with loops in its loops might take longer.
 */
const LIMITS = { waiting: 4_096, taskMs: 10_000, heapMib: 512 }

/** Renders in one or two milliseconds, whatever it consists of. */
const SMALL_CHARACTERS = 16_384

/** What a message or a tool costs beyond its text: a tool with no text at all takes 30 µs. */
const PIECE_CHARACTERS = 100

/**
 * Small chats are rendered at once. Large ones would stop every stream of this process for as long as they take
 * (0.3 s for 10,000 tools), so they go to a thread, which has the same template.
 */
export function createRenderChat(deps: { model: ChatRendererOptions; log: Logger }): RenderChat {
  const { model, log } = deps
  const { chatTemplate, toolTemplate, specialTokens, addedTokens } = model
  const settings: ChatRendererOptions = { chatTemplate, toolTemplate, specialTokens, addedTokens }
  const renderer = createChatRenderer(settings)
  const module = new URL('thread.ts', import.meta.url)
  const thread = createTaskThread<Chat>({ name: 'chats', module, settings, limits: LIMITS, log })
  return {
    async render(chat) {
      if (isSmall(chat)) return renderer.render(chat)
      try {
        const rendered = await thread.run<Rendered>(chat)
        if (rendered.status === 'rendered') return rendered.pieces
        throw new ChatTemplateError(rendered.message)
      } catch (error) {
        if (!(error instanceof TaskThreadError) || error.reason === 'too-many') throw error
        throw new ChatTemplateError("the messages take the model's chat template too long", error)
      }
    },
    isForged: renderer.isForged,
    close: thread.close,
  }
}

/** Counts no further than it must. */
function isSmall({ messages, tools }: Chat): boolean {
  let room = SMALL_CHARACTERS - PIECE_CHARACTERS * (messages.length + tools.length)
  for (const message of messages) {
    if (room < 0) return false
    room -= message.content.length
    if (message.role !== 'assistant') continue
    room -= message.reasoning.length
    for (const call of message.toolCalls) room -= PIECE_CHARACTERS + call.arguments.length
  }
  for (const tool of tools) {
    if (room < 0) return false
    room -= (tool.description ?? '').length + JSON.stringify(tool.parameters).length
  }
  return room >= 0
}
