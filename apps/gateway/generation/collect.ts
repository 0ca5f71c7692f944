import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationEnd, Usage } from '#libs/contracts/generation-event.ts'
import type { ToolCall } from '#libs/contracts/generation-request.ts'
import type { OutputEvent } from './generation-call.ts'

/** A generation that has ended, whole. */
export type FinishedGeneration = {
  readonly reasoning: string
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly finishReason: GenerationEnd['finishReason']
  readonly usage: Usage
}

/**
 * Folds a generation's output into one value, for answers that are not streamed. Throws what the iterator
 * throws, and an `ApiError` `upstream_error` when the output stops without its end.
 */
export async function collect(output: AsyncIterable<readonly OutputEvent[]>): Promise<FinishedGeneration> {
  let reasoning = ''
  let text = ''
  const toolCalls = new Map<number, { id: string; name: string; arguments: string }>()

  for await (const batch of output) {
    for (const event of batch) {
      switch (event.type) {
        case 'reasoning-delta':
          reasoning += event.text
          break
        case 'text-delta':
          text += event.text
          break
        case 'tool-call-start':
          toolCalls.set(event.index, { id: event.id, name: event.name, arguments: '' })
          break
        case 'tool-call-delta': {
          const call = toolCalls.get(event.index)
          if (call === undefined) throw brokenOutput('a tool call went on that never began')
          call.arguments += event.text
          break
        }
        case 'generation-end':
          return {
            reasoning,
            text,
            toolCalls: [...toolCalls.values()],
            finishReason: event.finishReason,
            usage: event.usage,
          }
      }
    }
  }
  throw brokenOutput('the output stopped without its end')
}

/** The output breaks its own rules; the client is told that the backend failed. */
export function brokenOutput(reason: string): ApiError {
  return new ApiError('upstream_error', 'The model’s output was interrupted.', { cause: new Error(reason) })
}
