import { z } from 'zod'

/** `model` as the description of the interface tells it; `find-model.ts` reads it before any other field. */
export const ModelId = z.string().meta({ description: 'The id of a model of the catalog.' })
