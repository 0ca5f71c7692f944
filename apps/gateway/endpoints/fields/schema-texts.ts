import { mayChange } from '#libs/json-schema/exact-json.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import { jsonParts } from '../../http/json-parts.ts'
import { carriesSchema } from './carries-schema.ts'

/** The texts of schemas, by the schema's object in the parsed body. */
const texts = new WeakMap<object, string>()

/**
 * Notes the text of each JSON schema in a body, so that `schemaText` can return it. Only schemas that JavaScript might
 * write in another way are noted. The model and the grammar must get the numbers that the caller wrote, such as `1.0`
 * and integers with all digits of 64 bits. `json` is the text of `body`. If the body has no schema, or no such numbers,
 * `json` is not read at all. Otherwise its parts are read at most once for each level of nesting in `PLACES`.
 */
export function noteSchemaTexts(body: JsonObject, json: string): void {
  if (carriesSchema(body) && mayChange(json)) note(body, json, PLACES)
}

/** Notes the text of a schema that the body contains as a string. */
export function noteSchemaText(schema: object, json: string): void {
  if (mayChange(json)) texts.set(schema, json)
}

/** Returns the noted text of a schema; undefined if JavaScript's own JSON of the schema is equal. */
export const schemaText = (schema: object): string | undefined => texts.get(schema)

/** The places of schemas within a value. `each` describes every element of a list. */
type Places = { readonly [name: string]: Places | 'schema' } | { readonly each: Places }

const FORMAT: Places = { schema: 'schema', json_schema: { schema: 'schema' } }

const FUNCTION: Places = { parameters: 'schema', input_schema: 'schema', function: { parameters: 'schema' } }
/** Functions, and functions in name spaces. */
const TOOLS: Places = { each: { ...FUNCTION, tools: { each: FUNCTION } } }

const PLACES: Places = {
  tools: TOOLS,
  input: { each: { tools: TOOLS } },
  response_format: FORMAT,
  text: { format: FORMAT },
  output_config: { format: FORMAT },
  structured_outputs: { json: 'schema' },
  guided_json: 'schema',
}

function note(value: unknown, json: string, places: Places | 'schema'): void {
  if (typeof value !== 'object' || value === null || !mayChange(json)) return
  if (places === 'schema') {
    texts.set(value, json)
    return
  }
  const parts = jsonParts(json)
  for (const [name, inner] of Object.entries(places)) {
    if (name === 'each' && Array.isArray(value)) {
      for (const [index, item] of value.entries()) note(item, parts.get(String(index)) ?? '', inner)
    } else note(Reflect.get(value, name), parts.get(name) ?? '', inner)
  }
}
