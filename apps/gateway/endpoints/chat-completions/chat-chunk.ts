import { z } from 'zod'
import { ChoiceIndex } from '../fields/choices.ts'
import { ChatLogprobs } from './chat-logprobs.ts'
import { ChatFinishReason, ChatUsage } from './chat-object.ts'

const ToolCallDelta = z.object({
  index: z.int().min(0),
  id: z.string().optional().meta({ description: 'Like type and name, only on the first delta of a call.' }),
  type: z.literal('function').optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string() }),
})

/** A chunk of a streamed chat completion. `to-chunks.ts` renders it as text. */
export const ChatChunk = z.object({
  id: z.string().meta({ description: 'Like created and model, the same on every chunk.' }),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z
    .array(
      z.object({
        index: ChoiceIndex,
        delta: z.object({
          role: z.literal('assistant').optional().meta({ description: 'On the first chunk only.' }),
          content: z.string().optional(),
          reasoning_content: z.string().optional(),
          tool_calls: z.array(ToolCallDelta).optional(),
        }),
        logprobs: ChatLogprobs.nullable().optional().meta({
          description: 'Only with logprobs: true; null if no token belongs to this chunk.',
        }),
        finish_reason: ChatFinishReason.nullable().meta({ description: 'Set on exactly one chunk.' }),
      }),
    )
    .max(1)
    .meta({ description: 'Empty on the chunk that carries usage.' }),
  usage: ChatUsage.optional().meta({
    description: 'Only on the last chunk, and only with stream_options.include_usage.',
  }),
})
