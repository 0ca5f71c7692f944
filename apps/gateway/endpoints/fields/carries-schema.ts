import type { JsonObject } from '#libs/json-schema/json-schema.ts'

/** Text too: a regular expression, a grammar, or a schema as text. */
const GUIDED = ['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar']

/** The fields of a body in which a JSON schema may be; `toToolUse` and `toOutputFormat` check it. */
const FIELDS_WITH_SCHEMA = ['tools', 'response_format', 'text', 'structured_outputs', ...GUIDED]

/**
 * Whether a body may have a JSON schema. Checking one takes a time that neither its bytes nor its values bound well: a
 * pattern is one value, and 60 KB of it take 30 ms.
 */
export function carriesSchema(body: JsonObject): boolean {
  return (
    FIELDS_WITH_SCHEMA.some((field) => typeof body[field] === 'object' && body[field] !== null) ||
    GUIDED.some((field) => typeof body[field] === 'string')
  )
}
