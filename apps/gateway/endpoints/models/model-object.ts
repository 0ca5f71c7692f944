import { z } from 'zod'

export const ModelObject = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.int().meta({ description: 'Unix seconds.' }),
  owned_by: z.string(),
})
export type ModelObject = z.infer<typeof ModelObject>

/** The whole catalog; there are no pages. */
export const ModelList = z.object({ object: z.literal('list'), data: z.array(ModelObject) })
export type ModelList = z.infer<typeof ModelList>

/** A model in the shape of Anthropic's interface. */
export const AnthropicModel = z.object({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: z.string().meta({ format: 'date-time' }),
})
export type AnthropicModel = z.infer<typeof AnthropicModel>

/** A page of the catalog in the shape of Anthropic's interface. */
export const AnthropicModelList = z.object({
  data: z.array(AnthropicModel),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
})
export type AnthropicModelList = z.infer<typeof AnthropicModelList>
