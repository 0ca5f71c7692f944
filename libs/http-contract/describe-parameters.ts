import { z } from 'zod'
import { documentedAs } from './documented-as.ts'

/** The parameters of one part of a request, as OpenAPI describes them. */
export function describeParameters(location: 'path' | 'query' | 'header', schema: z.ZodObject) {
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, example, ...described } = documentedAs(field)
    return {
      name,
      in: location,
      required: !z.safeParse(field, undefined).success,
      ...(description === undefined ? {} : { description }),
      ...(example === undefined ? {} : { example }),
      schema: described,
    }
  })
}
