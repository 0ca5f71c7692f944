import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { BOOLEAN } from '../fields/field-texts.ts'
import { ResponseFormat } from '../fields/output-format.ts'
import { OutputLimit } from '../fields/output-limit.ts'
import { SAMPLING_FIELDS } from '../fields/sampling.ts'

/**
 * The output limit of a request that names none. The interface states this number for this operation alone; chat
 * states it beside the model's maximum, which applies there: 1,024 tokens cut tool calls and reasoning in two,
 * and here there are neither.
 */
export const DEFAULT_MAX_TOKENS = 1_024

const PROMPT = 'expected text or an array of strings; tokens are not read'

const Prompt = z.union([z.string(), z.array(z.string(PROMPT)).min(1, 'expected at least one string')], PROMPT)

/**
 * The fields of a legacy completion request that this service serves, except `model`, which is read before them.
 * Fields that it refuses are in `refuse-unserved.ts`; all others are accepted and ignored.
 */
export const CompletionBody = z.object({
  prompt: Prompt.meta({ description: 'An array is joined with a newline character.' }),
  max_tokens: optional(OutputLimit).meta({ description: `Absent: ${DEFAULT_MAX_TOKENS}.` }),
  stream: optional(z.boolean(BOOLEAN)),
  response_format: optional(ResponseFormat),
  ...SAMPLING_FIELDS,
})
export type CompletionBody = z.output<typeof CompletionBody>
