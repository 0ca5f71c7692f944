import { z } from 'zod'

/** `model` in the OpenAPI description. Requests are parsed by `findModelOfBody`, before any other field. */
export const ModelId = z.string().meta({ description: 'The id of a model in the catalog.' })
