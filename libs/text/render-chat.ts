import { Template } from '@huggingface/jinja'
import type { ChatMessage, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { createNumberKeeper, type NumberKeeper } from './python-numbers.ts'

export type ChatRenderer = {
  /** The prompt, ending where the model's turn begins. Throws a ChatTemplateError. */
  render: (chat: {
    readonly messages: readonly ChatMessage[]
    readonly tools: readonly ToolDefinition[]
    /** null leaves the choice to the template. */
    readonly thinking: boolean | null
  }) => string
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
export function createChatRenderer(options: {
  readonly chatTemplate: string | null
  /** `bos_token`, `eos_token`, … as the tokenizer names them. */
  readonly specialTokens: Readonly<Record<string, string>>
}): ChatRenderer {
  const template = options.chatTemplate === null ? null : parseTemplate(options.chatTemplate)
  return {
    render({ messages, tools, thinking }) {
      if (template === null) throw new ChatTemplateError('this model has no chat template')
      const numbers = createNumberKeeper()
      try {
        const prompt = template.render({
          ...options.specialTokens,
          messages: messages.map((message) => toTemplateMessage(message, numbers)),
          tools: tools.length === 0 ? null : tools.map((tool) => toTemplateTool(tool, numbers)),
          documents: null,
          add_generation_prompt: true,
          // Qwen, GLM and most others read the first name, DeepSeek and Kimi the second.
          ...(thinking !== null && { enable_thinking: thinking, thinking }),
        })
        return numbers.restore(prompt)
      } catch (error) {
        const reason = error instanceof Error ? error.message.slice(0, 500) : 'unknown reason'
        throw new ChatTemplateError(`the model's chat template refused these messages: ${reason}`, error)
      }
    },
  }
}

function parseTemplate(source: string): Template {
  try {
    return new Template(source)
  } catch (error) {
    throw new Error('the chat template cannot be parsed', { cause: error })
  }
}

/** Absent fields stay absent: templates ask `is defined`. */
function toTemplateMessage(message: ChatMessage, numbers: NumberKeeper): Record<string, unknown> {
  if (message.role === 'tool') {
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId }
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content }
  return {
    role: 'assistant',
    content: message.content,
    ...(message.reasoning !== '' && { reasoning: message.reasoning, reasoning_content: message.reasoning }),
    ...(message.toolCalls.length > 0 && {
      tool_calls: message.toolCalls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: toTemplateArguments(call.arguments, numbers) },
      })),
    }),
  }
}

/**
 * vLLM parses the text before the template sees it, and takes empty text for no arguments. Text that is no JSON
 * (a call that was cut short, replayed by its caller) stays text, which most templates print as it is.
 */
function toTemplateArguments(text: string, numbers: NumberKeeper): unknown {
  if (text.trim() === '') return {}
  try {
    return numbers.parse(text)
  } catch {
    return text
  }
}

/** The order of keys is part of the prompt: it is the one in which vLLM writes tools out again. */
function toTemplateTool(tool: ToolDefinition, numbers: NumberKeeper): Record<string, unknown> {
  return {
    type: 'function',
    function: {
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters === null ? null : numbers.parse(JSON.stringify(tool.parameters)),
    },
  }
}
