import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'

const MAX_INPUTS = 2_048
const INPUT = `expected text or an array of 1 to ${MAX_INPUTS} texts; token ids are not supported`

const Text = z.string(INPUT).min(1, 'expected text that is not empty')

/**
 * The supported fields of an embeddings request, except `model`, which is read first. All others are ignored.
 */
export const EmbeddingBody = z.object({
  input: z.union([Text, z.array(Text).min(1, 'expected at least one text').max(MAX_INPUTS)], INPUT),
  encoding_format: optional(z.enum(['float', 'base64'], 'expected one of float, base64')),
  dimensions: optional(z.int('expected a whole number').min(1, 'expected at least 1')),
})
export type EncodingFormat = NonNullable<z.output<typeof EmbeddingBody>['encoding_format']>
