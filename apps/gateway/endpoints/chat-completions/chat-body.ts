import { z } from 'zod'
import { ReasoningEffort } from '#libs/contracts/generation-request.ts'
import { optional } from '../../http/parse-body.ts'

/** Texts of the schema end up in the message "'field': expected …". */
const EFFORTS = `expected one of ${ReasoningEffort.options.join(', ')}`
const TEXT = 'expected text'

const MAX_STOP_STRINGS = 16
const MAX_STOP_LENGTH = 1_024
const MAX_BIASES = 1_024
const MAX_SCHEMA_DEPTH = 100

/** Null is within the interface's type of `content`; it means that there is none. */
const Content = z
  .union(
    [
      z.string(),
      z.array(z.object({ type: z.literal('text'), text: z.string() })).transform((parts) => {
        // Nothing is put between parts that the caller did not write.
        return parts.map((part) => part.text).join('')
      }),
    ],
    'expected text, or an array of parts {"type":"text","text":…}',
  )
  .nullable()
  .transform((content) => content ?? '')

const ToolCall = z.object(
  {
    id: z.string(TEXT),
    type: optional(z.literal('function', 'expected function')),
    function: z.object(
      { name: z.string(TEXT), arguments: optional(z.string(TEXT)).transform((text) => text ?? '') },
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
    tool_calls: optional(z.array(ToolCall, 'expected an array of tool calls')),
  })
  .refine((message) => message.content !== undefined || (message.tool_calls ?? []).length > 0, {
    path: ['content'],
    error: 'expected content or tool_calls',
  })
/** The interface's message has no `tool_call_id`, so a tool message may come without one. */
const ToolMessage = z.object({
  role: z.literal('tool'),
  content: Content,
  tool_call_id: optional(z.string(TEXT)),
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

const Tool = z.object(
  {
    type: z.literal('function', 'expected function, the only type of tool that is served'),
    function: z.object(
      {
        name: z.string(TEXT).min(1, 'expected a name').max(256, 'expected a name of at most 256 characters'),
        description: optional(z.string(TEXT)),
        parameters: optional(
          z
            .record(z.string(), z.unknown(), 'expected a JSON schema')
            .refine((schema) => isWithinDepth(schema, MAX_SCHEMA_DEPTH), {
              error: `expected a JSON schema of at most ${MAX_SCHEMA_DEPTH} levels`,
            }),
        ),
      },
      'expected an object with name, description and parameters',
    ),
  },
  'expected a tool {"type":"function","function":{…}}',
)

const Limit = z
  .number('expected a whole number of at least 1')
  .refine((value) => Number.isInteger(value) && value >= 1, 'expected a whole number of at least 1')

const StopString = z
  .string(`expected a string, or an array of at most ${MAX_STOP_STRINGS}`)
  .min(1, 'expected a string that is not empty')
  .max(MAX_STOP_LENGTH, `expected at most ${MAX_STOP_LENGTH} characters`)

const Stop = z
  .union([z.string(), z.array(z.unknown())], `expected a string, or an array of at most ${MAX_STOP_STRINGS}`)
  .transform((stop) => (typeof stop === 'string' ? [stop] : stop))
  .pipe(z.array(StopString).max(MAX_STOP_STRINGS, `expected at most ${MAX_STOP_STRINGS} strings`))

const INT64 = 2 ** 63
const Seed = z
  .number('expected a whole number')
  .refine(
    (seed) => Number.isInteger(seed) && seed >= -INT64 && seed <= INT64,
    'expected a 64-bit whole number',
  )

const TOP_K = 'expected a whole number of at least 1, or 0 or -1 for no limit'
const BIASES = `expected an object of at most ${MAX_BIASES} token ids with numbers from -100 to 100`

/**
 * The fields of a chat completion request that this service serves, except `model`, which is read before them.
 * Fields that it refuses are in `refuse-unserved.ts`; all others are accepted and ignored.
 */
export const ChatBody = z.object({
  messages: z.array(Message, 'expected an array of messages').min(1, 'expected at least one message'),
  max_tokens: optional(Limit),
  max_completion_tokens: optional(Limit),
  stream: optional(z.boolean('expected true or false')),
  stream_options: optional(
    z.object({ include_usage: optional(z.boolean('expected true or false')) }, 'expected an object'),
  ),
  tools: optional(z.array(Tool, 'expected an array of tools')),
  tool_choice: optional(z.enum(['auto', 'none'], 'expected auto or none; other choices are not served')),
  reasoning_effort: optional(z.enum(ReasoningEffort.options, EFFORTS)),
  effort: optional(z.enum(ReasoningEffort.options, EFFORTS)),
  temperature: optional(numberBetween(0, 2)),
  top_p: optional(
    z
      .number('expected a number above 0, up to 1')
      .refine((value) => value > 0 && value <= 1, 'expected a number above 0, up to 1'),
  ),
  top_k: optional(z.int(TOP_K).min(-1, TOP_K).max(1_000_000, 'expected at most 1000000')),
  min_p: optional(numberBetween(0, 1)),
  frequency_penalty: optional(numberBetween(-2, 2)),
  presence_penalty: optional(numberBetween(-2, 2)),
  repetition_penalty: optional(
    z
      .number('expected a number above 0, up to 10')
      .refine((value) => value > 0 && value <= 10, 'expected a number above 0, up to 10'),
  ),
  stop: optional(Stop),
  seed: optional(Seed),
  logit_bias: optional(
    z
      .record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100), BIASES)
      .refine((biases) => Object.keys(biases).length <= MAX_BIASES, BIASES),
  ),
})
export type ChatBody = z.output<typeof ChatBody>
export type ChatBodyMessage = ChatBody['messages'][number]

function numberBetween(min: number, max: number) {
  const text = `expected a number from ${min} to ${max}`
  return z.number(text).min(min, text).max(max, text)
}

/** A deeper value would exhaust the stack of whoever writes it as JSON. */
function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isWithinDepth(inner, levels - 1))
}
