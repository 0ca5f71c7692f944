import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { contentsOf } from '../fields/content.ts'
import { Effort } from '../fields/effort.ts'
import { CHOICE_FIELDS } from '../fields/choices.ts'
import { tableOf } from '../fields/field-rules.ts'
import { BOOLEAN, TEXT } from '../fields/field-texts.ts'
import { GENERATION_FIELDS } from '../fields/generation-fields.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { ShortText } from '../fields/short-text.ts'
import { TopLogprobs } from '../fields/logprobs.ts'
import { TOOL_FIELDS } from '../fields/tools.ts'

const { Content, ResultContent, AssistantContent } = contentsOf('text')

const FUNCTION_CALL = 'expected an object with name and arguments'

/** Some clients send no ids; a result then belongs to a call by its place. */
const CallId = optional(ShortText).transform((id) => id ?? '')

const FunctionCall = z
  .object({
    id: CallId,
    type: z.literal('function').nullish(),
    function: z.object({ name: ShortText, arguments: optional(z.string(TEXT)) }, FUNCTION_CALL),
  })
  .transform(({ id, function: { name, arguments: text = '' } }) => ({ id, name, arguments: text }))

/**
 * A call of a tool that takes free text instead of JSON. A conversation that began at another service may contain such
 * calls. The call is read as a call with the text as its argument `input`.
 */
const CustomCall = z
  .object({
    id: CallId,
    type: z.literal('custom'),
    custom: z.object({ name: ShortText, input: z.string(TEXT) }, 'expected an object with name and input'),
  })
  .transform(({ id, custom: { name, input } }) => ({ id, name, arguments: JSON.stringify({ input }) }))

const ToolCall = z.discriminatedUnion('type', [FunctionCall, CustomCall], {
  error: ({ code }) =>
    code === 'invalid_union'
      ? 'expected function'
      : 'expected a tool call {"id":…,"type":"function","function":{…}}',
})

/** A field of messages that is refused, because ignoring it would lose a part of the conversation. */
const refused = (expected: string) => optional(z.unknown().refine(() => false, expected))

const SystemMessage = z.object({ role: z.literal('system'), content: Content })
const DeveloperMessage = z.object({ role: z.literal('developer'), content: Content })
const UserMessage = z.object({ role: z.literal('user'), content: Content })
/** A message may be empty: clients keep an answer that was interrupted, or that has reasoning alone. */
const AssistantMessage = z.object({
  role: z.literal('assistant'),
  content: AssistantContent.optional(),
  refusal: optional(z.string(TEXT)).meta({ description: 'Read as text behind the content.' }),
  reasoning_content: optional(z.string(TEXT)),
  reasoning: optional(z.string(TEXT)).meta({ description: 'The same as reasoning_content.' }),
  audio: refused('audio is not supported by this model; send its transcript as content'),
  function_call: refused('expected none: send it in tool_calls, its result as a message of role tool'),
  tool_calls: optional(listOf(ToolCall, { expected: 'expected an array of tool calls' })),
})

/** The interface does not define `tool_call_id`, so a tool message is accepted without it. */
const ToolMessage = z.object({
  role: z.literal('tool'),
  content: ResultContent,
  tool_call_id: optional(ShortText),
})

const Message = z.discriminatedUnion(
  'role',
  [SystemMessage, DeveloperMessage, UserMessage, AssistantMessage, ToolMessage],
  {
    error: (issue) =>
      issue.code === 'invalid_union'
        ? 'expected one of system, developer, user, assistant, tool'
        : 'expected a message',
  },
)

/** The fields of a chat completion request that are read, except `model`, which is read first. */
export const ChatBody = z.object({
  messages: listOf(Message, {
    expected: 'expected an array of messages',
    least: [1, 'expected at least one message'],
  }),
  ...GENERATION_FIELDS,
  // The interface has no effort `none` on chat.
  reasoning_effort: optional(Effort).meta({ description: 'Absent: the model’s default.' }),
  stream_options: optional(z.object({ include_usage: optional(z.boolean(BOOLEAN)) }, 'expected an object')),
  ...CHOICE_FIELDS,
  ...TOOL_FIELDS,
  logprobs: optional(z.boolean(BOOLEAN)).meta({
    description: 'True: the answer has the log probability of each output token.',
  }),
  top_logprobs: optional(TopLogprobs).meta({
    description: 'How many of the most probable tokens each entry of logprobs lists; needs logprobs: true.',
  }),
})
export const CHAT_FIELDS = tableOf(ChatBody)
export type ChatBody = z.output<typeof ChatBody>
export type ChatBodyMessage = ChatBody['messages'][number]
