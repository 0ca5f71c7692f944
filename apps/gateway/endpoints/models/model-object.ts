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
