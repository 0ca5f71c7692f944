import { z } from 'zod'
import { UsageCost } from '../fields/usage-cost.ts'

export const EmbeddingObject = z.object({
  object: z.literal('embedding'),
  index: z.int().min(0).meta({ description: 'The index of the input.' }),
  embedding: z.union([z.array(z.number()), z.base64()]).meta({
    description: 'The numbers, or with `base64` the bytes of the vector as little-endian 32-bit floats.',
  }),
})
export type EmbeddingObject = z.infer<typeof EmbeddingObject>

/** The response body of an embeddings request. */
export const EmbeddingList = z.object({
  object: z.literal('list'),
  data: z.array(EmbeddingObject).min(1),
  model: z.string().meta({ description: 'The model id of the request.' }),
  usage: z.object({ prompt_tokens: z.int().min(0), total_tokens: z.int().min(0), cost: UsageCost }),
})
export type EmbeddingList = z.infer<typeof EmbeddingList>
