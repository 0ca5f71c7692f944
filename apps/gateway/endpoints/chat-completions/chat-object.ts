import { z } from 'zod'

export const ChatUsage = z.object({
  prompt_tokens: z.int().min(0),
  completion_tokens: z.int().min(0),
  total_tokens: z.int().min(0),
  prompt_tokens_details: z.object({ cached_tokens: z.int().min(0) }),
  completion_tokens_details: z.object({ reasoning_tokens: z.int().min(0) }),
})
export type ChatUsage = z.infer<typeof ChatUsage>

export const ChatFinishReason = z.enum(['stop', 'length', 'tool_calls'])
export type ChatFinishReason = z.infer<typeof ChatFinishReason>

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({
    name: z.string(),
    arguments: z.string().meta({ description: 'Text as the model wrote it; not always valid JSON.' }),
  }),
})

/** The answer of a chat completion that is not streamed. */
export const ChatObject = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().meta({ description: 'Unix seconds.' }),
  model: z.string().meta({ description: 'The id that the request named.' }),
  choices: z
    .array(
      z.object({
        index: z.literal(0),
        message: z.object({
          role: z.literal('assistant'),
          content: z.string().nullable().meta({ description: 'Null when the turn is tool calls only.' }),
          reasoning_content: z.string().optional().meta({ description: 'On reasoning models.' }),
          tool_calls: z.array(ToolCall).optional(),
        }),
        finish_reason: ChatFinishReason,
      }),
    )
    .length(1),
  usage: ChatUsage,
})
export type ChatObject = z.infer<typeof ChatObject>
