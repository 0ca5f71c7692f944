import { hash } from 'node:crypto'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from '../family.ts'

/**
 * Returns the id of a tool call. The id is the same in every run of the generation, whichever worker parses the call.
 * It has a form that the family's template accepts in the next turn of the conversation.
 */
export function toCallId(
  kind: ModelFamily['callIds'],
  call: {
    readonly generationId: string
    readonly name: string
    readonly index: number
    /** The number of calls in the conversation so far. */
    readonly earlierCalls: number
  },
): string {
  const digest = digestOf(`${call.generationId}:${call.index}`)
  switch (kind) {
    case 'opaque':
      return `call_${digest.slice(0, 24)}`
    case 'nine-characters':
      return digest.slice(0, NINE)
    case 'name-and-number':
      return toNumberedName(call.name, call.earlierCalls + call.index)
  }
}

/**
 * Replaces call ids that the family's template would reject, both in calls and in the results of calls. Such ids come
 * from callers that replay calls of another model, or that make up ids. Ids of the family's own kind are unchanged.
 */
export function withOwnCallIds(
  kind: ModelFamily['callIds'],
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  if (kind === 'opaque') return messages
  /**
   * The new ids, by the caller's ids. A caller may use an id again in a later turn. The map then has the new id of the
   * latest call with this id.
   */
  const owns = new Map<string, string>()
  let calls = 0
  return messages.map((message) => {
    if (message.role === 'tool') {
      const { toolCallId } = message
      return { ...message, toolCallId: owns.get(toolCallId) ?? toOwnId(kind, toolCallId) }
    }
    if (message.role !== 'assistant') return message
    return {
      ...message,
      toolCalls: message.toolCalls.map((call) => {
        const id = toOwnId(kind, call.id, { name: call.name, number: calls })
        owns.set(call.id, id)
        calls += 1
        return { ...call, id }
      }),
    }
  })
}

/** Without `call`, for a result whose call is missing, the id gets no number. */
function toOwnId(
  kind: Exclude<ModelFamily['callIds'], 'opaque'>,
  id: string,
  call?: { readonly name: string; readonly number: number },
): string {
  switch (kind) {
    // Mistral's templates reject anything but nine letters and digits.
    case 'nine-characters':
      return /^[a-zA-Z0-9]{9}$/.test(id) ? id : digestOf(id).slice(0, NINE)
    // Kimi's templates print the id in the place where the model writes name and number.
    case 'name-and-number':
      return call === undefined || /^functions\..+:\d+$/.test(id)
        ? id
        : toNumberedName(call.name, call.number)
  }
}

const NINE = 9

const digestOf = (text: string): string => hash('sha256', text, 'hex')

const toNumberedName = (name: string, number: number): string => `functions.${name}:${number}`
