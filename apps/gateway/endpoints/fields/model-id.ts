import { z } from 'zod'

/**
 * The field `model` in the OpenAPI description. In a request, `findModelOfBody` reads this field before any other
 * field.
 */
export const ModelId = z.string().meta({ description: 'The id of a model in the catalog.' })
