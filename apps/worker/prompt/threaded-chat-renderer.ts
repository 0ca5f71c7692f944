import {
  ChatTemplateError,
  createChatRenderer,
  type Chat,
  type ChatRenderer,
  type ChatTemplate,
} from '#libs/chat-template/chat-renderer.ts'
import { hasMoreCharacters } from '#libs/contracts/text-size.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createTaskPool } from '#libs/threads/task-pool.ts'
import { TaskThreadError } from '#libs/threads/task-thread.ts'
import type { Rendered } from './chat-renderer-thread.ts'

/** The parts of a model that rendering needs, as plain data. */
export type RenderedModel = {
  readonly template: ChatTemplate
  /** The format of calls, for templates that print no calls. */
  readonly toolCalls: ModelFamily['toolCalls']
}

export const openModelRenderer = ({ template, toolCalls }: RenderedModel): ChatRenderer =>
  createChatRenderer(template, { writeCalls: openCallWriter(toolCalls) })

/** A ChatRenderer that does not block the event loop. */
export type ThreadedChatRenderer = {
  /** Throws a ChatTemplateError, and a TaskThreadError when too many chats wait. */
  render(chat: Chat): Promise<string[]>
  isForged: ChatRenderer['isForged']
  /** Resolves when the thread for large chats has started, or has failed to start within its time. */
  readonly started: Promise<void>
  close(): Promise<void>
}

/**
 * `waiting` is larger than the number of slots of a worker's engines, so that no chat is refused because too many wait.
 * The chats of the largest request bodies are rendered within a second; only a template with nested loops may take
 * longer.
 */
const LIMITS = { waiting: 4_096, taskMs: 10_000, heapMib: 512 }

/** Threads per model. While one renders a chat for seconds, the other renders the rest. */
const THREADS = 2

/** A chat of this size renders in one or two milliseconds. */
const SMALL_CHARACTERS = 16_384

/**
 * A message, a call or a tool counts as this many characters more than its text has, because rendering takes time even
 * without text: an empty tool takes 30 µs.
 */
const PIECE_CHARACTERS = 100

/**
 * Renders a small chat immediately, on the event loop. Large chats would block every stream of this process while they
 * render (0.3 s for 10,000 tools), so threads with the same template render them.
 */
export function createThreadedChatRenderer(model: RenderedModel, log: Logger): ThreadedChatRenderer {
  const renderer = openModelRenderer(model)
  const module = new URL('chat-renderer-thread.ts', import.meta.url)
  const thread = createTaskPool<Chat>({
    name: 'chats',
    size: THREADS,
    module,
    settings: model,
    limits: LIMITS,
    log,
  })
  return {
    async render(chat) {
      if (isSmall(chat)) return renderer.render(chat)
      try {
        const rendered = await thread.run<Rendered>(chat)
        if (rendered.status === 'rendered') return rendered.pieces
        throw new ChatTemplateError(rendered.message)
      } catch (error) {
        if (!(error instanceof TaskThreadError) || error.reason !== 'too-hard') throw error
        throw new ChatTemplateError("the model's chat template takes too long to render the messages", error)
      }
    },
    isForged: renderer.isForged,
    started: thread.started,
    close: thread.close,
  }
}

function isSmall({ messages, tools, switches }: Chat): boolean {
  const room = SMALL_CHARACTERS - PIECE_CHARACTERS * (messages.length + tools.length + countCalls(messages))
  return room >= 0 && !hasMoreCharacters([messages, tools, switches], room)
}

function countCalls(messages: Chat['messages']): number {
  let calls = 0
  for (const message of messages) if (message.role === 'assistant') calls += message.toolCalls.length
  return calls
}
