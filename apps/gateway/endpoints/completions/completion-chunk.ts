import { z } from 'zod'
import { ChoiceIndex } from '../fields/choices.ts'
import { CompletionLogprobs } from './completion-logprobs.ts'
import { CompletionFinishReason } from './completion-object.ts'

/** A chunk of a streamed legacy completion. `to-chunks.ts` renders it as text. */
export const CompletionChunk = z.object({
  id: z.string().meta({ description: 'Like created and model, the same on every chunk.' }),
  object: z.literal('text_completion'),
  created: z.int(),
  model: z.string(),
  choices: z
    .array(
      z.object({
        index: ChoiceIndex,
        text: z.string(),
        logprobs: CompletionLogprobs.nullable().optional().meta({
          description: 'Only with logprobs; null if no token belongs to this chunk.',
        }),
        finish_reason: CompletionFinishReason.nullable().meta({ description: 'Set on the last chunk.' }),
      }),
    )
    .length(1),
})
