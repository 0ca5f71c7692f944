import type { GenerationEnd, TokenLogprob } from '#libs/contracts/generation-event.ts'
import type { FinishedGeneration, OutputPart } from '../../generation/output/collect.ts'
import type { ToolCall } from '#libs/contracts/generation-request.ts'
import type { SpacedNames } from '../fields/tool-names.ts'
import { toLogprobEntries } from '../fields/logprob-entries.ts'
import type { ItemStatus, OutputItem } from './response-object.ts'

/** A part whose call has the name that the caller knows. */
export type ItemPart =
  | Exclude<OutputPart, { type: 'tool-call' }>
  | { readonly type: 'tool-call'; readonly call: ToolCall & { readonly namespace?: string } }

/** These settings are the same for all items of one response. */
export type ItemOptions = {
  readonly requestId: string
  readonly spacedNames: SpacedNames
  /** Encrypts reasoning; null if the request does not ask for it. */
  readonly seal: Seal | null
}

/**
 * Returns the items of a finished generation, in the order of its parts. Only the last item can be incomplete. If the
 * output has neither text nor calls, an empty message is added, because the interface's sequence of events includes the
 * text of a message, and clients expect a message.
 */
export function toItems(
  { parts, finishReason }: Pick<FinishedGeneration, 'parts' | 'finishReason'>,
  { requestId, spacedNames, seal }: ItemOptions,
): OutputItem[] {
  const last = toEndStatus(finishReason)
  const items = parts.map((part, index) =>
    toItem(toItemPart(part, spacedNames), {
      id: toItemId(part, requestId, index),
      status: index === parts.length - 1 ? last : 'completed',
      seal,
    }),
  )
  if (!parts.every(({ type }) => type === 'reasoning')) return items
  return [...items, toItem(NO_TEXT, { id: toItemId(NO_TEXT, requestId, items.length), status: last })]
}

export function toItemPart(part: OutputPart, spacedNames: SpacedNames): ItemPart {
  if (part.type !== 'tool-call') return part
  return { ...part, call: { ...part.call, ...spacedNames.get(part.call.name) } }
}

const NO_TEXT = { type: 'text', text: '' } as const

/** The final status of a response and of its last item: incomplete if the output limit was reached. */
export function toEndStatus(finishReason: GenerationEnd['finishReason']): 'completed' | 'incomplete' {
  return finishReason === 'length' ? 'incomplete' : 'completed'
}

/** Returns an item's id. It is derived from the request's id and the item's index, so it is the same on every event. */
export function toItemId({ type }: Pick<OutputPart, 'type'>, requestId: string, index: number): string {
  return `${ID_PREFIXES[type]}_${requestId}_${index}`
}

const ID_PREFIXES = { reasoning: 'rs', text: 'msg', 'tool-call': 'fc' } as const

/**
 * Returns an item. A reasoning item has the complete text twice: in `summary`, because clients show the summary, and in
 * `content`, from which the text is read when a client sends the item back.
 */
export function toItem(
  part: ItemPart,
  { id, status, seal = null }: { id: string; status: ItemStatus; seal?: Seal | null },
): OutputItem {
  if (part.type === 'tool-call') {
    const { id: call_id, name, namespace, arguments: text } = part.call
    const spaced = namespace === undefined ? { name } : { name, namespace }
    return { id, type: 'function_call', status, call_id, ...spaced, arguments: text }
  }
  if (part.type === 'text')
    return { id, type: 'message', status, role: 'assistant', content: [toOutputText(part)] }
  return {
    id,
    type: 'reasoning',
    status,
    summary: [toSummaryText(part.text)],
    content: [{ type: 'reasoning_text', text: part.text }],
    ...(seal !== null && { encrypted_content: seal(part.text) }),
  }
}

/** Encrypts reasoning for the client. */
export type Seal = (text: string) => string

/** Returns the only content part of a message. */
export function toOutputText(part: { text: string; logprobs?: readonly TokenLogprob[] }) {
  const { text, logprobs = [] } = part
  return { type: 'output_text' as const, text, annotations: [], logprobs: toLogprobEntries(logprobs) }
}

/** Returns the only summary part of a reasoning item. */
export function toSummaryText(text: string) {
  return { type: 'summary_text' as const, text }
}
