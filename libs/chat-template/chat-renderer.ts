import { wallClockMs } from '#libs/clock/wall-clock.ts'
import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { createNumberKeeper, type NumberKeeper } from './python/number-keeper.ts'
import { createPythonTemplate, type PythonTemplate } from './python/python-template.ts'
import type { AddedToken } from '#libs/tokenizer/tokenizer.ts'
import { createTokenGuard, type TokenGuard } from './token-guard.ts'

/** The parts of a request that a template renders. */
export type Chat = {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolDefinition[]
  /** Further variables of the template, which switch the model's reasoning on, off or to a level. */
  readonly switches: Readonly<Record<string, boolean | string | number>>
}

/** A model's chat template, as its files describe it. Plain data. */
export type ChatTemplate = {
  /** Jinja; null where the model has none, as embedding models often do. */
  readonly source: string | null
  /** Jinja for chats with tools, where a model has a template of its own for them. */
  readonly toolSource?: string | null
  /** Variables that the template may name: `bos_token`, `eos_token`, … */
  readonly specialTokens: Readonly<Record<string, string>>
  readonly addedTokens: readonly AddedToken[]
}

export type ChatRenderer = {
  /**
   * Returns the prompt up to the beginning of the model's turn, in pieces: encoded independently, they contain no
   * control token but the template's own. Throws a ChatTemplateError.
   */
  render: (chat: Chat) => string[]
  /** Whether the ids of these pieces contain a control token that does not stand in their text. */
  isForged: TokenGuard['isForged']
}

/** The template cannot render these messages. The error's message may be shown to the caller. */
export class ChatTemplateError extends Error {
  /** No log has the message. */
  readonly quotesRequest = true

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ChatTemplateError'
  }
}

/**
 * Renders chats as vLLM's HTTP server does with the same template (recorded in `test/fixtures/http`).
 * Throws when the source cannot be parsed; a model without a template refuses each chat instead, because it may
 * still serve embeddings. `now` is the date for templates that name it.
 */
export function createChatRenderer(
  chatTemplate: ChatTemplate,
  now = () => new Date(wallClockMs()),
): ChatRenderer {
  const { source, toolSource = null, specialTokens, addedTokens } = chatTemplate
  const plain = source === null ? null : parseTemplate(source, now)
  const withTools = toolSource === null ? plain : parseTemplate(toolSource, now)
  const guard = createTokenGuard({ addedTokens, source: `${source ?? ''}\n${toolSource ?? ''}` })
  return {
    isForged: guard.isForged,
    render({ messages, tools, switches }) {
      const template = tools.length === 0 ? plain : withTools
      if (template === null) throw new ChatTemplateError('this model has no chat template')
      const safe = { numbers: createNumberKeeper(), guard }
      try {
        const prompt = template.render({
          ...switches,
          ...specialTokens,
          messages: messages.map((message) => toTemplateMessage(message, safe)),
          tools: tools.length === 0 ? null : tools.map((tool) => toTemplateTool(tool, safe)),
          documents: null,
          add_generation_prompt: true,
        })
        return guard.toPieces(safe.numbers.restore(prompt))
      } catch (error) {
        const reason = error instanceof Error ? error.message.slice(0, 500) : 'unknown reason'
        throw new ChatTemplateError(`the model's chat template refused these messages: ${reason}`, error)
      }
    },
  }
}

function parseTemplate(source: string, now: () => Date): PythonTemplate {
  try {
    return createPythonTemplate(source, now)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new Error(`the chat template cannot be parsed: ${problem}`, { cause: error })
  }
}

/** Makes a caller's values safe to pass through a template. */
type Safe = { readonly numbers: NumberKeeper; readonly guard: TokenGuard }

/**
 * Absent fields stay absent, because templates test `is defined`. In earlier output of the model only special tokens
 * are guarded: its other markers are its own, and templates search for them.
 */
function toTemplateMessage(message: ChatMessage, safe: Safe): Record<string, unknown> {
  const { guardText } = safe.guard
  if (message.role === 'tool') {
    const { content, toolCallId } = message
    return { role: 'tool', content: guardText(content, 'all'), tool_call_id: guardText(toolCallId, 'all') }
  }
  if (message.role !== 'assistant') {
    return { role: message.role, content: guardText(message.content, 'all') }
  }
  const reasoning = guardText(message.reasoning, 'special')
  return {
    role: 'assistant',
    content: guardText(message.content, 'special'),
    ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
    ...(message.toolCalls.length > 0 && {
      tool_calls: message.toolCalls.map((call) => ({
        id: guardText(call.id, 'all'),
        type: 'function',
        function: {
          name: guardText(call.name, 'all'),
          arguments: toTemplateArguments(call.arguments, safe),
        },
      })),
    }),
  }
}

/**
 * As vLLM does, parses the text before the template sees it, and treats empty text as no arguments. Text that is no
 * JSON (the caller replays a call that was cut short) and JSON that is too deep to print stay text, which most
 * templates print unchanged.
 */
function toTemplateArguments(text: string, { numbers, guard }: Safe): unknown {
  if (text.trim() === '') return {}
  try {
    return guard.guardJson(numbers.parse(text))
  } catch {
    return guard.guardText(text, 'all')
  }
}

/** The order of keys is part of the prompt; this is vLLM's. */
function toTemplateTool(tool: ToolDefinition, { numbers, guard }: Safe): Record<string, unknown> {
  const { name, description, parameters, strict } = tool
  return {
    type: 'function',
    function: {
      name: guard.guardText(name, 'all'),
      description: description === null ? null : guard.guardText(description, 'all'),
      parameters: parameters === null ? null : guard.guardJson(numbers.parse(JSON.stringify(parameters))),
      ...(strict !== undefined && { strict }),
    },
  }
}
