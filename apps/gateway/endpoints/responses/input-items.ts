import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { shorten } from '../../http/shorten.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { contentsOf } from '../fields/content.ts'
import { TEXT } from '../fields/field-texts.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { ShortText } from '../fields/short-text.ts'
import { ToolList } from '../fields/tools.ts'
import { createOtherItems } from './other-items.ts'

const { Content, ResultContent, AssistantContent } = contentsOf('input_text')

/** Message items have no field `tool_calls`. It is rejected because ignoring it would lose the calls. */
const NoToolCalls = optional(
  z
    .array(z.unknown())
    .max(
      0,
      'expected none: send each call as an item of type function_call, each result as function_call_output',
    ),
)

const Message = { type: z.literal('message').nullish(), tool_calls: NoToolCalls }

const AssistantItem = z
  .object({ ...Message, role: z.literal('assistant'), content: AssistantContent })
  .transform(({ role, content: { text, reasoning } }) => ({
    type: 'message' as const,
    role,
    content: text,
    reasoning,
  }))

const InputMessageItem = z
  .object({ ...Message, role: z.enum(['system', 'developer', 'user']), content: Content })
  .transform(({ role, content }) => ({
    type: 'message' as const,
    role: role === 'developer' ? ('system' as const) : role,
    content,
  }))

const MessageItem = z.discriminatedUnion('role', [AssistantItem, InputMessageItem], {
  error:
    'expected one of system, developer, user, assistant; a tool’s result is an item of type function_call_output',
})

/** Without an id, a result belongs to a call by its place. */
const CallId = optional(ShortText).transform((id) => id ?? '')

const FunctionCallItem = z.object({
  type: z.literal('function_call'),
  call_id: CallId,
  name: ShortText,
  namespace: optional(ShortText),
  arguments: optional(z.string(TEXT)).transform((text) => text ?? ''),
})

const FunctionCallOutputItem = z.object({
  type: z.literal('function_call_output'),
  call_id: CallId,
  output: ResultContent,
})

/** The result of a search for tools: the model may call the found tools from then on. */
const ToolSearchOutputItem = z.object({
  type: z.literal('tool_search_output'),
  call_id: CallId,
  tools: ToolList,
})

const REASONING = 'expected an array of parts with text'

const ReasoningText = optional(
  listOf(z.object({ text: z.string(TEXT) }, REASONING), { expected: REASONING }),
).transform((parts) => (parts ?? []).map((part) => part.text).join('\n'))

/** `toMessages` reads encrypted reasoning. The text of the content counts, or the text of the summary if there is none. */
const ReasoningItem = z
  .object({
    type: z.literal('reasoning'),
    content: ReasoningText,
    summary: ReasoningText,
    encrypted_content: optional(z.string(TEXT)).meta({
      description: 'As the service returned it; that of another service is ignored.',
    }),
  })
  .transform(({ type, content, summary, encrypted_content: sealed }) => ({
    type,
    text: content === '' ? summary : content,
    sealed,
  }))

const ItemReference = z.object({ type: z.literal('item_reference'), id: ShortText })

const TYPES = 'message, function_call, function_call_output, reasoning or item_reference'

const InputItem = z.discriminatedUnion(
  'type',
  [
    MessageItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    ToolSearchOutputItem,
    ReasoningItem,
    ItemReference,
    ...createOtherItems(ResultContent),
  ],
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

function describeType(item: unknown): string {
  const type = typeof item === 'object' && item !== null && 'type' in item ? item.type : undefined
  if (typeof type !== 'string') return `expected one of ${TYPES}`
  const expected = type.startsWith('compaction') ? UNREADABLE : `expected ${TYPES}`
  return `items of type '${shorten(type)}' are not supported; ${expected}`
}

/** A compaction item is refused, because ignoring it would lose the whole conversation that it replaces. */
const UNREADABLE = 'only the service that encrypted it can read it: send the items that it replaces'
