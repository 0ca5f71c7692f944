import { z } from 'zod'

export const EmbeddingObject = z.object({
  object: z.literal('embedding'),
  index: z.int().min(0).meta({ description: 'Of the input that this is the vector of.' }),
  embedding: z
    .union([z.array(z.number()), z.base64()])
    .meta({ description: 'The numbers; with `base64` the little-endian bytes of its 32-bit floats.' }),
})
export type EmbeddingObject = z.infer<typeof EmbeddingObject>

/** The answer of an embeddings request. */
export const EmbeddingList = z.object({
  object: z.literal('list'),
  data: z.array(EmbeddingObject).min(1),
  model: z.string().meta({ description: 'The id that the request named.' }),
  usage: z.object({ prompt_tokens: z.int().min(0), total_tokens: z.int().min(0) }),
})
export type EmbeddingList = z.infer<typeof EmbeddingList>
