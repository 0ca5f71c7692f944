import type { JsonObject } from '#libs/json-schema/json-schema.ts'

/** Fields that may have their schema, regular expression or grammar as text. */
const GUIDED = ['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar']

/** The fields of a body in which a JSON schema may be. `toToolUse` and `toOutputFormat` check the schemas. */
const FIELDS_WITH_SCHEMA = [
  'tools',
  'response_format',
  'text',
  'output_config',
  'output_format',
  'structured_outputs',
  ...GUIDED,
]

/**
 * Returns true if a body may have a JSON schema. Such a body is prepared on a thread, however small it is
 * (`createPrepareRequest`): the time for the check of a schema cannot be estimated well from the number of its bytes or
 * values. For example, a pattern is one value, and the check of a pattern of 60 KB takes 30 ms.
 */
export function carriesSchema(body: JsonObject): boolean {
  return (
    FIELDS_WITH_SCHEMA.some((field) => typeof body[field] === 'object' && body[field] !== null) ||
    GUIDED.some((field) => typeof body[field] === 'string') ||
    // Items of Responses may have tools that a search has found.
    (Array.isArray(body['input']) && body['input'].some((item) => Array.isArray(Object(item).tools)))
  )
}
