import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'

const MOST_INPUTS = 2_048
const INPUT = `expected text or an array of 1 to ${MOST_INPUTS} texts; token ids mean nothing to another tokenizer`

const Text = z.string(INPUT).min(1, 'expected text that is not empty')

/**
 * The fields of an embeddings request that this service serves, except `model`, which is read before them. All
 * others are accepted and ignored.
 */
export const EmbeddingBody = z.object({
  input: z.union([Text, z.array(Text).min(1, 'expected at least one text').max(MOST_INPUTS)], INPUT),
  encoding_format: optional(z.enum(['float', 'base64'], 'expected one of float, base64')),
  dimensions: optional(z.int('expected a whole number').min(1, 'expected at least 1')),
})
export type EncodingFormat = NonNullable<z.output<typeof EmbeddingBody>['encoding_format']>
