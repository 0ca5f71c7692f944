import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { FinishedGeneration, OutputPart } from '../../generation/collect.ts'
import type { ItemStatus, OutputItem } from './response-object.ts'

/**
 * The items of a whole generation, in the order of its parts. Only the last can have been cut short. A turn
 * without calls always has a message, be it an empty one: the interface's order of events promises its text, and
 * clients look for it.
 */
export function toItems(
  { parts, finishReason }: Pick<FinishedGeneration, 'parts' | 'finishReason'>,
  requestId: string,
): OutputItem[] {
  const last = toEndStatus(finishReason)
  const items = parts.map((part, index) =>
    toItem(part, {
      id: toItemId(part, requestId, index),
      status: index === parts.length - 1 ? last : 'completed',
    }),
  )
  if (!parts.every(({ type }) => type === 'reasoning')) return items
  return [...items, toItem(NO_TEXT, { id: toItemId(NO_TEXT, requestId, items.length), status: last })]
}

const NO_TEXT = { type: 'text', text: '' } as const

/** The status in which a response and its last item end: only the output limit cuts them short. */
export function toEndStatus(finishReason: GenerationEnd['finishReason']): 'completed' | 'incomplete' {
  return finishReason === 'length' ? 'incomplete' : 'completed'
}

/** An id that is the item's own, and the same wherever it is told: made of the request's id and its place. */
export function toItemId({ type }: Pick<OutputPart, 'type'>, requestId: string, index: number): string {
  return `${ID_PREFIXES[type]}_${requestId}_${index}`
}

const ID_PREFIXES = { reasoning: 'rs', text: 'msg', 'tool-call': 'fc' } as const

/** Clients show a reasoning item's summary and read its content: both are the thinking itself. */
export function toItem(part: OutputPart, { id, status }: { id: string; status: ItemStatus }): OutputItem {
  if (part.type === 'tool-call') {
    const { call } = part
    return { id, type: 'function_call', status, call_id: call.id, name: call.name, arguments: call.arguments }
  }
  if (part.type === 'text')
    return { id, type: 'message', status, role: 'assistant', content: [toOutputText(part.text)] }
  return {
    id,
    type: 'reasoning',
    status,
    summary: [toSummaryText(part.text)],
    content: [{ type: 'reasoning_text', text: part.text }],
  }
}

/** The one content part of a message. */
export function toOutputText(text: string) {
  return { type: 'output_text' as const, text, annotations: [], logprobs: [] }
}

/** The one summary part of a reasoning item. */
export function toSummaryText(text: string) {
  return { type: 'summary_text' as const, text }
}
