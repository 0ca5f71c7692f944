import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { BOOLEAN } from '../fields/field-texts.ts'
import { ResponseFormat } from '../fields/output-format.ts'
import { OutputLimit } from '../fields/output-limit.ts'
import { SAMPLING_FIELDS } from '../fields/sampling.ts'

const PROMPT = 'expected text or an array of strings; tokens are not read'

const Prompt = z.union([z.string(), z.array(z.string(PROMPT)).min(1, 'expected at least one string')], PROMPT)

/**
 * The fields of a legacy completion request that this service serves, except `model`, which is read before them.
 * Fields that it refuses are in `refuse-unserved.ts`; all others are accepted and ignored.
 */
export const CompletionBody = z.object({
  prompt: Prompt,
  max_tokens: optional(OutputLimit),
  stream: optional(z.boolean(BOOLEAN)),
  response_format: optional(ResponseFormat),
  ...SAMPLING_FIELDS,
})
export type CompletionBody = z.output<typeof CompletionBody>
