import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { listOf } from '#libs/http-contract/list-of.ts'

const MAX_INPUTS = 2_048
const INPUT =
  `expected text or an array of 1 to ${MAX_INPUTS} texts; token ids are not supported ` +
  '(with LangChain: check_embedding_ctx_length=False)'

const NONE = 'expected at least one text'
const EMPTY = 'expected text that is not empty'

const Texts = listOf(z.string(INPUT).meta({ minLength: 1 }), {
  expected: INPUT,
  most: [MAX_INPUTS, INPUT],
})

/**
 * Empty texts are refused by a check outside the union, because the union's error would not name the index of the empty
 * text.
 */
const Input = z
  .union([z.string(INPUT).meta({ minLength: 1 }), Texts.meta({ minItems: 1 })], INPUT)
  .superRefine((input, context) => {
    if (input.length === 0) {
      context.addIssue({ code: 'custom', message: typeof input === 'string' ? EMPTY : NONE })
    } else if (typeof input !== 'string' && input.includes('')) {
      context.addIssue({ code: 'custom', message: EMPTY, path: [input.indexOf('')] })
    }
  })

/** The supported fields of an embeddings request, except `model`, which is read first. All other fields are ignored. */
export const EmbeddingBody = z.object({
  input: Input,
  encoding_format: optional(z.enum(['float', 'base64'], 'expected one of float, base64')),
  dimensions: optional(z.int('expected a whole number').min(1, 'expected at least 1')),
})
export type EncodingFormat = NonNullable<z.output<typeof EmbeddingBody>['encoding_format']>
