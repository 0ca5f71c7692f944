import { z } from 'zod'
import type { OutputFormat } from '#libs/contracts/generation-request.ts'
import { optional } from '../../http/parse-body.ts'
import type { CheckSchema } from './check-schema.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { JsonSchema } from './json-schema.ts'
import { parseDialect } from './parse-dialect.ts'
import { ShortText } from './short-text.ts'

const EXPECTED = 'expected an object whose type is text, json_object or json_schema'

const NamedSchema = z.object(
  { schema: JsonSchema, name: optional(ShortText) },
  'expected an object with name and schema',
)

type JsonSchemaFormat = Extract<OutputFormat, { type: 'json-schema' }>

/** The requested format. The schema's name does not change the output; a response repeats it. */
export type NamedFormat =
  | Exclude<OutputFormat, JsonSchemaFormat>
  | (JsonSchemaFormat & { name: string | null })

const Dialects = z.union([
  z.object({ type: z.enum(['text', 'json_object']) }),
  z.object({ type: z.literal('json_schema'), json_schema: NamedSchema }),
  z.object({ type: z.literal('json_schema'), ...NamedSchema.shape }),
])

/**
 * `response_format` of chat, which nests the schema under `json_schema`, and `text.format` of Responses, which
 * does not. Both fields accept both dialects.
 */
export const ResponseFormat = z
  .looseObject({ type: z.enum(['text', 'json_object', 'json_schema'], EXPECTED) }, EXPECTED)
  .transform((format, context): NamedFormat => {
    if (format.type === 'text') return { type: 'text' }
    if (format.type === 'json_object') return { type: 'json-object' }
    const read = parseDialect(NamedSchema, format, { nestedUnder: 'json_schema', context })
    if (read === undefined) return z.NEVER
    return { type: 'json-schema', schema: read.schema, name: read.name ?? null }
  })
  .meta({ ...documentedAs(Dialects), description: 'The format to which the output text is constrained.' })

/**
 * Throws an `ApiError` `invalid_request` for a schema that the output cannot be constrained to; `param` is the
 * field's name in the body.
 */
export function toOutputFormat(
  format: NamedFormat | undefined,
  param: string,
  checkSchema: CheckSchema,
): OutputFormat {
  if (format === undefined) return { type: 'text' }
  if (format.type === 'json-schema') checkSchema(format.schema, param)
  return withoutName(format)
}

export function withoutName(format: NamedFormat): OutputFormat {
  return format.type === 'json-schema' ? { type: format.type, schema: format.schema } : format
}
