import { probeShapes, type ChatTemplate } from '#libs/chat-template/chat-renderer.ts'
import { fitMessages } from '#libs/chat-template/shape/fit-messages.ts'
import { PLAIN_VALUES } from '#libs/chat-template/shape/probe-template.ts'
import type { TemplateShapes } from '#libs/chat-template/shape/template-shape.ts'
import { toTemplateMessage } from '#libs/chat-template/shape/to-template-message.ts'
import type { ChatMessage, ToolCall } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import type { Ask } from './chat-server.ts'

export type Fitter = {
  readonly shapes: TemplateShapes
  /** Returns a request's messages as Millrace changes them for the template, in a form that every server accepts. */
  fit(request: Ask): ChatMessage[]
}

export function openFitter(template: ChatTemplate, format: ModelFamily['toolCalls']): Fitter {
  const writeCalls = openCallWriter(format)
  const shapes = probeShapes(template, { writeCalls })
  return {
    shapes,
    fit({ messages, tools }) {
      const shape = tools === undefined ? shapes.plain : shapes.withTools
      return fitMessages(messages, shape).map((message): ChatMessage => {
        if (message.role !== 'assistant' || message.toolCalls.length === 0) return message
        const printed = toTemplateMessage(message, shape, { safe: PLAIN_VALUES, writeCalls })
        if (shape.calls?.form === 'written')
          return { ...message, content: String(printed['content']), toolCalls: [] }
        return { ...message, toolCalls: message.toolCalls.map((call, at) => toSent(call, printed, at)) }
      })
    },
  }
}

/** Returns a call whose arguments are the JSON text of the value that the template gets. */
function toSent(call: ToolCall, printed: Readonly<Record<string, unknown>>, at: number): ToolCall {
  const calls = printed['tool_calls']
  const args: unknown = Array.isArray(calls) ? calls[at]?.function?.arguments : undefined
  return { ...call, arguments: typeof args === 'string' ? args : JSON.stringify(args) }
}
