import { z } from 'zod'
import { MAX_CHOICES } from '#libs/contracts/choices.ts'
import { ChoiceIndex } from '../fields/choices.ts'
import { UsageCost } from '../fields/usage-cost.ts'
import { CompletionLogprobs } from './completion-logprobs.ts'

export const CompletionFinishReason = z.enum(['stop', 'length'])
export type CompletionFinishReason = z.infer<typeof CompletionFinishReason>

/** The response body of a legacy completion that is not streamed. */
export const CompletionObject = z.object({
  id: z.string(),
  object: z.literal('text_completion'),
  created: z.int().meta({ description: 'Unix seconds.' }),
  model: z.string().meta({ description: 'The model id of the request.' }),
  choices: z
    .array(
      z.object({
        index: ChoiceIndex,
        text: z.string(),
        logprobs: CompletionLogprobs.optional().meta({ description: 'Only with logprobs.' }),
        finish_reason: CompletionFinishReason,
      }),
    )
    .min(1)
    .max(MAX_CHOICES),
  usage: z.object({
    prompt_tokens: z.int().min(0),
    completion_tokens: z.int().min(0),
    total_tokens: z.int().min(0),
    cost: UsageCost,
  }),
})
export type CompletionObject = z.infer<typeof CompletionObject>
