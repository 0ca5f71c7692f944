import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { Effort } from '../fields/effort.ts'
import { BOOLEAN, TEXT } from '../fields/field-texts.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { ResponseFormat } from '../fields/output-format.ts'
import { OutputLimit } from '../fields/output-limit.ts'
import { SAMPLING_FIELDS } from '../fields/sampling.ts'
import { ShortText } from '../fields/short-text.ts'
import { TOOL_FIELDS } from '../fields/tools.ts'

const PARTS = 'expected text, or an array of parts {"type":"text","text":…}'

const TextPart = z.object({ type: z.literal('text'), text: z.string() })

/**
 * Text, or text parts, which are joined without a separator. The interface allows null as `content`: it means an
 * empty text.
 */
const Content = z
  .union(
    [
      z.string(),
      listOf(TextPart, { expected: PARTS }).transform((parts) => parts.map(({ text }) => text).join('')),
    ],
    PARTS,
  )
  .nullable()
  .transform((content) => content ?? '')

const ToolCall = z.object(
  {
    id: ShortText,
    type: optional(z.literal('function', 'expected function')),
    function: z.object(
      { name: ShortText, arguments: optional(z.string(TEXT)).transform((text) => text ?? '') },
      'expected an object with name and arguments',
    ),
  },
  'expected a tool call {"id":…,"type":"function","function":{…}}',
)

const SystemMessage = z.object({ role: z.literal('system'), content: Content })
const DeveloperMessage = z.object({ role: z.literal('developer'), content: Content })
const UserMessage = z.object({ role: z.literal('user'), content: Content })
const AssistantMessage = z
  .object({
    role: z.literal('assistant'),
    content: Content.optional(),
    reasoning_content: optional(z.string(TEXT)),
    tool_calls: optional(listOf(ToolCall, { expected: 'expected an array of tool calls' })),
  })
  .refine((message) => message.content !== undefined || (message.tool_calls ?? []).length > 0, {
    path: ['content'],
    error: 'expected content or tool_calls',
  })
  .meta({
    anyOf: [
      { required: ['content'] },
      { required: ['tool_calls'], properties: { tool_calls: { type: 'array', minItems: 1 } } },
    ],
  })
/** The interface does not define `tool_call_id`, so a tool message is accepted without it. */
const ToolMessage = z.object({
  role: z.literal('tool'),
  content: Content,
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

/**
 * The supported fields of a chat completion request, except `model`, which is read first. Rejected fields are
 * listed in `refuse-unsupported.ts`; all others are ignored.
 */
export const ChatBody = z.object({
  messages: listOf(Message, {
    expected: 'expected an array of messages',
    least: [1, 'expected at least one message'],
  }),
  max_tokens: optional(OutputLimit).meta({
    description:
      'The largest number of output tokens. Absent: as many as the model and the context window allow.',
  }),
  max_completion_tokens: optional(OutputLimit).meta({
    description: 'The same as max_tokens; the smaller of both applies.',
  }),
  stream: optional(z.boolean(BOOLEAN)),
  stream_options: optional(z.object({ include_usage: optional(z.boolean(BOOLEAN)) }, 'expected an object')),
  ...TOOL_FIELDS,
  response_format: optional(ResponseFormat),
  reasoning_effort: optional(Effort).meta({ description: 'Absent: the model’s default.' }),
  effort: optional(Effort).meta({ description: 'The same as reasoning_effort.' }),
  ...SAMPLING_FIELDS,
})
export type ChatBody = z.output<typeof ChatBody>
export type ChatBodyMessage = ChatBody['messages'][number]
