import type { JsonObject } from '#libs/json-schema/json-schema.ts'

/** Fields that may have their schema, regular expression or grammar as text. */
const GUIDED = ['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar']

/** The fields of a body in which a JSON schema may be. `toToolUse` and `toOutputFormat` check the schemas. */
const FIELDS_WITH_SCHEMA = ['tools', 'response_format', 'text', 'structured_outputs', ...GUIDED]

/**
 * True if a body may have a JSON schema. Neither the number of bytes nor the number of values bounds the time of a
 * schema's check well: a pattern is one value, and the check of a pattern of 60 KB takes 30 ms.
 */
export function carriesSchema(body: JsonObject): boolean {
  return (
    FIELDS_WITH_SCHEMA.some((field) => typeof body[field] === 'object' && body[field] !== null) ||
    GUIDED.some((field) => typeof body[field] === 'string')
  )
}
