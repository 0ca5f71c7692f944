import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { OutputFormat } from '#libs/contracts/generation-request.ts'
import type { GrammarUse } from '#libs/json-schema/limits.ts'
import { optional } from '../../http/parse-body.ts'
import type { CheckSchema } from './check-schema.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { checkTextGrammar } from './check-text-grammar.ts'
import { DIFFER } from './field-texts.ts'
import { JsonSchema } from './json-schema.ts'
import { parseEitherForm } from './parse-either-form.ts'
import { ShortText } from './short-text.ts'
import {
  isTextFormatType,
  parseTextFormat,
  TEXT_FORMAT_DIALECTS,
  TEXT_FORMAT_TYPES,
  type PlacedTextFormat,
} from './text-format.ts'

const TYPES = ['text', 'json_object', 'json_schema', ...TEXT_FORMAT_TYPES] as const
const EXPECTED = `expected an object whose type is one of ${TYPES.join(', ')}`

const NamedSchema = z.object(
  { schema: JsonSchema, name: optional(ShortText) },
  'expected an object with name and schema',
)

type JsonSchemaFormat = Extract<OutputFormat, { type: 'json-schema' }>

/**
 * The requested format. The schema's name does not change the output; a response repeats it. The place of a regular
 * expression, a choice or a grammar is named when the request is refused.
 */
export type NamedFormat =
  | Extract<OutputFormat, { type: 'text' | 'json-object' }>
  | (JsonSchemaFormat & { name: string | null })
  | PlacedTextFormat

const Forms = z.union([
  z.object({ type: z.enum(['text', 'json_object']) }),
  z.object({ type: z.literal('json_object'), schema: JsonSchema }),
  z.object({ type: z.literal('json_schema'), json_schema: NamedSchema }),
  z.object({ type: z.literal('json_schema'), ...NamedSchema.shape }),
  ...TEXT_FORMAT_DIALECTS,
])

/**
 * The schema of `response_format` (chat) and of `text.format` (Responses). In chat, the JSON schema and its name are
 * nested under `json_schema`; in Responses, they are beside `type`. Both fields accept both forms.
 * `parseTextFormat` reads the types whose output is not JSON.
 */
export const ResponseFormat = z
  .looseObject({ type: z.enum(TYPES, EXPECTED) }, EXPECTED)
  .transform((format, context): NamedFormat => {
    const { type } = format
    if (type === 'text') return { type: 'text' }
    if (isTextFormatType(type)) return parseTextFormat(type, format, context) ?? z.NEVER
    const hasSchema = ['schema', 'json_schema'].some(
      (field) => format[field] !== undefined && format[field] !== null,
    )
    // Together and Fireworks write the schema beside the type `json_object`.
    if (type === 'json_object' && !hasSchema) return { type: 'json-object' }
    const read = parseEitherForm(NamedSchema, format, { nestedUnder: 'json_schema', context })
    if (read === undefined) return z.NEVER
    const { value, text } = read.schema
    const name = read.name ?? null
    return { type: 'json-schema', schema: value, ...(text !== undefined && { schemaText: text }), name }
  })
  .meta({ ...documentedAs(Forms), description: 'The format to which the output text is constrained.' })

/**
 * Returns the one format that the fields ask for. The keys of `given` and `structured` are the names of fields of the
 * body. Throws an `ApiError` `invalid_request` for two different formats, and for a format to which the output cannot
 * be constrained. The format `text` is ignored if a field of `structured` is given.
 */
export function toOutputFormat(
  given: Readonly<Record<string, NamedFormat | undefined>>,
  structured: Readonly<Record<string, OutputFormat | undefined>>,
  { checkSchema, use }: { checkSchema: CheckSchema; use: GrammarUse },
): OutputFormat {
  const constraints = definedIn(structured)
  const formats = definedIn(given).filter(({ format }) => constraints.length === 0 || format.type !== 'text')
  const [first, ...others] = [...formats, ...constraints]
  if (first === undefined) return { type: 'text' }
  const { param, format } = first
  const other = others.find((one) => !isDeepStrictEqual(toCompared(one.format), toCompared(format)))
  if (other !== undefined) {
    throw new ApiError('invalid_request', `'${param}' and '${other.param}' ${DIFFER}.`, { param })
  }
  if (format.type === 'json-schema') checkSchema(format.schema, param, format.schemaText)
  else if (format.type !== 'text' && format.type !== 'json-object') checkTextGrammar(format, param, use)
  return format
}

/** Returns the given formats, each with the full name of its field in the body. */
function definedIn(formats: Readonly<Record<string, NamedFormat | OutputFormat | undefined>>) {
  return Object.entries(formats).flatMap(([param, format]) =>
    format === undefined ? [] : [toConstraint(param, format)],
  )
}

/** Leaves out the name of a schema, which does not change the output, and the place of another constraint. */
function toConstraint(
  param: string,
  format: NamedFormat | OutputFormat,
): { readonly param: string; readonly format: OutputFormat } {
  if ('place' in format) {
    const { place, ...placed } = format
    return { param: `${param}.${place}`, format: placed }
  }
  if (!('name' in format)) return { param, format }
  const { name: _, ...unnamed } = format
  return { param, format: unnamed }
}

/** Leaves out the schema's text: two formats that differ only in the spelling of numbers are equal. */
const toCompared = (format: OutputFormat) =>
  format.type === 'json-schema' ? { type: format.type, schema: format.schema } : format
