import { z } from 'zod'
import { UsageCost } from '../fields/usage-cost.ts'

export const StopReason = z.enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'])
export type StopReason = z.infer<typeof StopReason>

const Tokens = z.int().min(0)

export const MessageUsage = z.object({
  input_tokens: Tokens.meta({ description: 'Without the tokens of the cache.' }),
  cache_creation_input_tokens: z.literal(0),
  cache_read_input_tokens: Tokens,
  output_tokens: Tokens,
  output_tokens_details: z.object({ thinking_tokens: Tokens }),
  service_tier: z.literal('standard'),
  cost: UsageCost,
})
export type MessageUsage = z.infer<typeof MessageUsage>

export const TextBlock = z.object({ type: z.literal('text'), text: z.string() })
export const ThinkingBlock = z.object({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: z.string().meta({ description: 'The same on every block; not checked in requests.' }),
})
export const ToolUseBlock = z.object({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()).meta({
    description: 'Arguments that are not a JSON object are in the one field `arguments`, as text.',
  }),
})

const ContentBlock = z.discriminatedUnion('type', [TextBlock, ThinkingBlock, ToolUseBlock])

/** The response body of a message that is not streamed. */
export const MessageObject = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string().meta({ description: 'The model id of the request.' }),
  content: z.array(ContentBlock),
  stop_reason: StopReason.nullable().meta({ description: 'Null only in message_start.' }),
  stop_sequence: z.string().nullable().meta({ description: 'The stop sequence that ended the text.' }),
  usage: MessageUsage,
})
export type MessageObject = z.infer<typeof MessageObject>
