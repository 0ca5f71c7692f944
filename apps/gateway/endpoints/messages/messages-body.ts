import { z } from 'zod'
import { listOf } from '#libs/http-contract/list-of.ts'
import { optional } from '../../http/parse-body.ts'
import { BOOLEAN } from '../fields/field-texts.ts'
import { LEAST_OUTPUT_FIELDS } from '../fields/least-output.ts'
import { ResponseFormat } from '../fields/output-format.ts'
import { OutputLimit } from '../fields/output-limit.ts'
import { SAMPLING_FIELDS } from '../fields/sampling.ts'
import { AssistantContent, SystemContent, UserContent } from './content-blocks.ts'
import { MESSAGE_TOOL_FIELDS } from './message-tools.ts'
import { Thinking, THINKING_EFFORTS } from './thinking.ts'

const { stop: StopSequences, ...sampling } = SAMPLING_FIELDS

const Message = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('user'), content: UserContent }),
    z.object({ role: z.literal('assistant'), content: AssistantContent }),
    z.object({ role: z.literal('system'), content: SystemContent }),
  ],
  {
    error: ({ code }) =>
      code === 'invalid_union' ? 'expected one of user, assistant, system' : 'expected a message',
  },
)
export type Message = z.output<typeof Message>

/** The fields of a request that make its prompt, except `model`. */
export const PROMPT_FIELDS = {
  messages: listOf(Message, {
    expected: 'expected an array of messages',
    least: [1, 'expected at least one message'],
  }),
  system: optional(SystemContent),
  thinking: optional(Thinking),
  output_config: optional(
    z.looseObject(
      {
        effort: optional(z.enum(THINKING_EFFORTS, `expected one of ${THINKING_EFFORTS.join(', ')}`)),
        format: optional(ResponseFormat),
      },
      'expected an object',
    ),
  ).meta({ description: 'How much a model reasons, and the format of the text.' }),
  ...MESSAGE_TOOL_FIELDS,
}

/**
 * The supported fields of a Messages request, except `model`, which is read first. Rejected fields are listed in
 * `unsupported-fields.ts` and `refuse-unsupported.ts`; all others are ignored.
 */
export const MessagesBody = z.object({
  ...PROMPT_FIELDS,
  max_tokens: OutputLimit,
  stream: optional(z.boolean(BOOLEAN)),
  stop_sequences: StopSequences,
  ...LEAST_OUTPUT_FIELDS,
  ...sampling,
})
export type MessagesBody = z.output<typeof MessagesBody>
