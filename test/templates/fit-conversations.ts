import {
  ChatTemplateError,
  createChatRenderer,
  probeShapes,
  type ChatTemplate,
} from '#libs/chat-template/chat-renderer.ts'
import { pairResults } from '#libs/chat-template/shape/pair-results.ts'
import { PROBED_TOOL } from '#libs/chat-template/shape/probe-template.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { withOwnCallIds } from '#libs/dialect/syntax/call-id.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import { createRandom } from '#test/chaos/random.ts'
import { findLoss } from '#test/support/conversations/find-loss.ts'
import { drawConversation } from '#test/support/conversations/random-conversation.ts'

export type Fitted = {
  readonly whole: number
  /** The number of refused conversations by reason. */
  readonly refused: ReadonlyMap<string, number>
  /** The first conversation of which a part is missing in the prompt. */
  readonly loss: string | null
}

/**
 * Renders random conversations with a template. Every part of a conversation must be in its prompt once and in order,
 * unless the template or its shape refuses the conversation with a reason.
 */
export function fitConversations(
  template: ChatTemplate,
  options: { readonly name: string; readonly rounds: number },
  family: Pick<ModelFamily, 'toolCalls' | 'callIds'>,
): Fitted {
  const writeCalls = openCallWriter(family.toolCalls)
  const shapes = probeShapes(template, { writeCalls })
  const { render } = createChatRenderer({ ...template, shapes }, { writeCalls })
  const random = createRandom(35, options.name)
  const refused = new Map<string, number>()
  let whole = 0
  for (let round = 0; round < options.rounds; round += 1) {
    const conversation = drawConversation(random)
    const tools = round % 2 === 0 || !shapes.tools ? [] : [PROBED_TOOL]
    try {
      const messages = withOwnCallIds(family.callIds, pairResults(conversation.messages))
      const prompt = render({ messages, tools, switches: {} }).join('')
      const loss = findLoss(conversation, prompt)
      if (loss !== null) return { whole, refused, loss: `${loss}: ${JSON.stringify(conversation.messages)}` }
      whole += 1
    } catch (error) {
      if (!(error instanceof ChatTemplateError)) throw error
      refused.set(error.message, (refused.get(error.message) ?? 0) + 1)
    }
  }
  return { whole, refused, loss: null }
}
