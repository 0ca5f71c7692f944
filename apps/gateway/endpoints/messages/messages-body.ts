import { z } from 'zod'
import { listOf } from '#libs/http-contract/list-of.ts'
import { optional } from '../../http/parse-body.ts'
import { AnyEffort } from '../fields/effort.ts'
import { hint, tableOf } from '../fields/field-rules.ts'
import { GENERATION_FIELDS } from '../fields/generation-fields.ts'
import { EFFORT_FIELDS } from '../fields/reasoning-switches.ts'
import { OutputLimit } from '../fields/output-limit.ts'
import { TOOL_FIELDS } from '../fields/tools.ts'
import { AssistantContent, SystemContent, UserContent } from './content-blocks.ts'
import { MESSAGE_TOOL_FIELDS } from './message-tools.ts'
import { Thinking } from './thinking.ts'

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

/** The fields of a request whose tokens are counted, except `model`. */
export const MessageCountBody = z.object({
  messages: listOf(Message, {
    expected: 'expected an array of messages',
    least: [1, 'expected at least one message'],
  }),
  system: optional(SystemContent),
  ...GENERATION_FIELDS,
  ...EFFORT_FIELDS,
  effort: optional(AnyEffort),
  reasoning_effort: optional(AnyEffort),
  thinking: optional(Thinking),
  parallel_tool_calls: TOOL_FIELDS.parallel_tool_calls,
  ...MESSAGE_TOOL_FIELDS,
})
export type MessageCountBody = z.output<typeof MessageCountBody>

/** The fields of a Messages request that are read, except `model`, which is read first. */
export const MessagesBody = z.object({ ...MessageCountBody.shape, max_tokens: OutputLimit })
export type MessagesBody = z.output<typeof MessagesBody>

// Claude Code sends edits of the context. Without them the conversation has more of its history.
const OWN_RULES = { context_management: hint }

export const MESSAGE_FIELDS = tableOf(MessagesBody, OWN_RULES)
export const MESSAGE_COUNT_FIELDS = tableOf(MessageCountBody, OWN_RULES)
