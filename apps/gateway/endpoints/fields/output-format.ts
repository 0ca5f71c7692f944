import { z } from 'zod'
import type { OutputFormat } from '#libs/contracts/generation-request.ts'
import { checkSchema } from './check-schema.ts'
import { documentedAs } from './documented-as.ts'
import { JsonSchema } from './json-schema.ts'
import { parseDialect } from './parse-dialect.ts'

const EXPECTED = 'expected an object whose type is text, json_object or json_schema'

const SchemaHolder = z.object({ schema: JsonSchema }, 'expected an object with name and schema')

const Dialects = z.union([
  z.object({ type: z.enum(['text', 'json_object']) }),
  z.object({ type: z.literal('json_schema'), json_schema: SchemaHolder }),
  z.object({ type: z.literal('json_schema'), ...SchemaHolder.shape }),
])

/**
 * `response_format` of chat, which nests the schema under `json_schema`, and `text.format` of Responses, which
 * does not. Both dialects are read in both places.
 */
export const ResponseFormat = z
  .looseObject({ type: z.enum(['text', 'json_object', 'json_schema'], EXPECTED) }, EXPECTED)
  .transform((format, context): OutputFormat => {
    if (format.type === 'text') return { type: 'text' }
    if (format.type === 'json_object') return { type: 'json-object' }
    const read = parseDialect(SchemaHolder, format, { nestedUnder: 'json_schema', context })
    return read === undefined ? z.NEVER : { type: 'json-schema', schema: read.schema }
  })
  .meta({ ...documentedAs(Dialects), description: 'What the answer’s text is held to.' })

/**
 * Throws an `ApiError` `invalid_request` for a schema that no output could be held to; `param` is the field's
 * name in the body.
 */
export function toOutputFormat(format: OutputFormat | undefined, param: string): OutputFormat {
  if (format?.type === 'json-schema') checkSchema(format.schema, param)
  return format ?? { type: 'text' }
}
