import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { shorten } from '../../http/shorten.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { TEXT } from '../fields/field-texts.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { ShortText } from '../fields/short-text.ts'

const PARTS = 'expected text, or an array of parts {"type":"input_text","text":…}'

const TextPart = z.object({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() })
/** A refusal is read as the model's text. */
const RefusalPart = z
  .object({ type: z.literal('refusal'), refusal: z.string() })
  .transform(({ type, refusal }) => ({ type, text: refusal }))

/** Text, or text parts as in Responses or in chat; null means an empty text. */
const Content = z
  .union(
    [
      z.string(),
      listOf(z.discriminatedUnion('type', [TextPart, RefusalPart]), { expected: PARTS }).transform(joinParts),
    ],
    PARTS,
  )
  .nullable()
  .transform((content) => content ?? '')

/** Not a field of message items. It is rejected because ignoring it would lose the call. */
const NoToolCalls = optional(
  z
    .array(z.unknown())
    .max(
      0,
      'expected none: send each call as an item of type function_call, each result as function_call_output',
    ),
)

const MessageItem = z
  .object({
    type: z.literal('message').nullish(),
    role: z.enum(
      ['system', 'developer', 'user', 'assistant'],
      'expected one of system, developer, user, assistant; a tool’s result is an item of type function_call_output',
    ),
    content: Content,
    tool_calls: NoToolCalls,
  })
  .transform(({ role, content }) => ({
    type: 'message' as const,
    role: role === 'developer' ? ('system' as const) : role,
    content,
  }))

const FunctionCallItem = z.object({
  type: z.literal('function_call'),
  call_id: ShortText,
  name: ShortText,
  arguments: optional(z.string(TEXT)).transform((text) => text ?? ''),
})

const FunctionCallOutputItem = z.object({
  type: z.literal('function_call_output'),
  call_id: ShortText,
  output: Content,
})

const REASONING = 'expected an array of parts with text'

const ReasoningText = optional(
  listOf(z.object({ text: z.string(TEXT) }, REASONING), { expected: REASONING }),
).transform((parts) => (parts ?? []).map((part) => part.text).join('\n'))

/** The content, or the summary if there is no content. Encrypted reasoning is ignored: it cannot be read. */
const ReasoningItem = z
  .object({ type: z.literal('reasoning'), content: ReasoningText, summary: ReasoningText })
  .transform(({ type, content, summary }) => ({ type, text: content === '' ? summary : content }))

const ItemReference = z.object({ type: z.literal('item_reference'), id: ShortText })

const TYPES = 'message, function_call, function_call_output, reasoning or item_reference'

const InputItem = z.discriminatedUnion(
  'type',
  [MessageItem, FunctionCallItem, FunctionCallOutputItem, ReasoningItem, ItemReference],
  { error: ({ code, input }) => (code === 'invalid_union' ? describeType(input) : 'expected an item') },
)
export type InputItem = z.output<typeof InputItem>

const Items = listOf(InputItem, {
  expected: 'expected an array of items',
  least: [1, 'expected at least one item'],
})

/** `input` of a Responses request: the text of one user message, or the items of the conversation so far. */
export const Input = z
  .union([z.string(), z.array(z.unknown())], 'expected text or an array of items')
  .transform((input) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input))
  .pipe(Items)
  .meta(documentedAs(z.union([z.string(), Items])))

function joinParts(parts: readonly { readonly text: string }[]): string {
  return parts.map((part) => part.text).join('')
}

function describeType(item: unknown): string {
  const type = typeof item === 'object' && item !== null && 'type' in item ? item.type : undefined
  return typeof type === 'string'
    ? `items of type '${shorten(type)}' are not supported; expected ${TYPES}`
    : `expected one of ${TYPES}`
}
