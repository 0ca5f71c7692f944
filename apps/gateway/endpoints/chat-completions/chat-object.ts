import { z } from 'zod'
import { MAX_CHOICES } from '#libs/contracts/choices.ts'
import { ChoiceIndex } from '../fields/choices.ts'
import { ChatLogprobs } from './chat-logprobs.ts'
import { UsageCost } from '../fields/usage-cost.ts'

export const ChatUsage = z.object({
  prompt_tokens: z.int().min(0),
  completion_tokens: z.int().min(0),
  total_tokens: z.int().min(0),
  prompt_tokens_details: z.object({ cached_tokens: z.int().min(0) }),
  completion_tokens_details: z.object({ reasoning_tokens: z.int().min(0) }),
  cost: UsageCost,
})
export type ChatUsage = z.infer<typeof ChatUsage>

export const ChatFinishReason = z.enum(['stop', 'length', 'tool_calls'])
export type ChatFinishReason = z.infer<typeof ChatFinishReason>

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({
    name: z.string(),
    arguments: z.string().meta({ description: 'The text that the model generated; not always valid JSON.' }),
  }),
})

/** The response body of a chat completion that is not streamed. */
export const ChatObject = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().meta({ description: 'Unix seconds.' }),
  model: z.string().meta({ description: 'The model id of the request.' }),
  choices: z
    .array(
      z.object({
        index: ChoiceIndex,
        message: z.object({
          role: z.literal('assistant'),
          content: z
            .string()
            .nullable()
            .meta({ description: 'Null when the answer has tool calls and no text.' }),
          reasoning_content: z
            .string()
            .optional()
            .meta({ description: 'Only when the model generated reasoning.' }),
          tool_calls: z.array(ToolCall).optional(),
        }),
        logprobs: ChatLogprobs.optional().meta({ description: 'Only with logprobs: true.' }),
        finish_reason: ChatFinishReason,
      }),
    )
    .min(1)
    .max(MAX_CHOICES),
  usage: ChatUsage,
})
export type ChatObject = z.infer<typeof ChatObject>
