import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { createNumberKeeper, type NumberKeeper } from './python/python-numbers.ts'
import { createPythonTemplate, type PythonTemplate } from './python/python-template.ts'
import { createTokenGuard, type AddedToken, type TokenGuard } from './token-guard.ts'

/** What a template sees of a request. */
export type Chat = {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolDefinition[]
  /** Other variables of the template: how its model is told to think. */
  readonly switches: Readonly<Record<string, boolean | string | number>>
}

/** What is known of a model's template, as a tokenizer's files say it. Plain data. */
export type ChatRendererOptions = {
  readonly chatTemplate: string | null
  /** What is used instead when there are tools. */
  readonly toolTemplate?: string | null | undefined
  /** `bos_token`, `eos_token`, … as the tokenizer names them. */
  readonly specialTokens: Readonly<Record<string, string>>
  readonly addedTokens: readonly AddedToken[]
  /** What templates that name today's date are told; the clock's unless told. */
  readonly now?: () => Date
}

export type ChatRenderer = {
  /**
   * The prompt, ending where the model's turn begins, in pieces: tokenized one by one, they hold no control
   * token but the template's own. Throws a ChatTemplateError.
   */
  render: (chat: Chat) => string[]
  /** Whether the ids of these pieces hold a control token that stands nowhere in their text. */
  isForged: TokenGuard['isForged']
}

/** The template cannot render these messages, by its own rules or ours. The message may be shown to the caller. */
export class ChatTemplateError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ChatTemplateError'
  }
}

/**
 * Renders chats as vLLM's HTTP server does with the same template (recorded in `test/fixtures/http`).
 * Throws at once when the template's source is no Jinja that we can read; a model without a template (null)
 * refuses each chat instead, because it may still serve embeddings.
 */
export function createChatRenderer(options: ChatRendererOptions): ChatRenderer {
  const { chatTemplate, toolTemplate = null, now = () => new Date() } = options
  const plain = chatTemplate === null ? null : parseTemplate(chatTemplate, now)
  const withTools = toolTemplate === null ? plain : parseTemplate(toolTemplate, now)
  const guard = createTokenGuard({
    addedTokens: options.addedTokens,
    chatTemplate: `${chatTemplate ?? ''}\n${toolTemplate ?? ''}`,
  })
  return {
    isForged: guard.isForged,
    render({ messages, tools, switches }) {
      const template = tools.length === 0 ? plain : withTools
      if (template === null) throw new ChatTemplateError('this model has no chat template')
      const safe = { numbers: createNumberKeeper(), guard }
      try {
        const prompt = template.render({
          ...switches,
          ...options.specialTokens,
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

/** How a caller's values are written for a template. */
type Safe = { readonly numbers: NumberKeeper; readonly guard: TokenGuard }

/**
 * Absent fields stay absent: templates ask `is defined`. What a model has said comes back with its own markers
 * in it, and templates look for them: there only special tokens are guarded.
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
 * vLLM parses the text before the template sees it, and takes empty text for no arguments. Text that is no JSON
 * (a call that was cut short, replayed by its caller) stays text, which most templates print as it is; so does
 * JSON that is too deep to be printed.
 */
function toTemplateArguments(text: string, { numbers, guard }: Safe): unknown {
  if (text.trim() === '') return {}
  try {
    return guard.guardJson(numbers.parse(text))
  } catch {
    return guard.guardText(text, 'all')
  }
}

/** The order of keys is part of the prompt: it is the one in which vLLM writes tools out again. */
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
