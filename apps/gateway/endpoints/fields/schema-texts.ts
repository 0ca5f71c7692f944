import { mayChange } from '#libs/json-schema/exact-json.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import { jsonParts } from '../../http/json-parts.ts'
import { carriesSchema } from './carries-schema.ts'

/** By the schema's object in the parsed body. */
const texts = new WeakMap<object, string>()

/**
 * Notes the text of each JSON schema in a body that JavaScript may write otherwise, because a model must read, and a
 * grammar must have, the numbers that the caller wrote: `1.0`, and all digits of 64 bits. `json` is the text of `body`.
 * One pass over the text for each level of `PLACES`; none for a body without a schema or without such numbers.
 */
export function noteSchemaTexts(body: JsonObject, json: string): void {
  if (carriesSchema(body) && mayChange(json)) note(body, json, PLACES)
}

/** Notes the text of a schema that was itself written as text within the body. */
export function noteSchemaText(schema: object, json: string): void {
  if (mayChange(json)) texts.set(schema, json)
}

/** The text of a schema of a body; undefined where JavaScript's own JSON of it says the same. */
export const schemaText = (schema: object): string | undefined => texts.get(schema)

/** Where schemas are within a value; `each`: within every element of a list. */
type Places = { readonly [name: string]: Places | 'schema' } | { readonly each: Places }

const FORMAT: Places = { schema: 'schema', json_schema: { schema: 'schema' } }

const PLACES: Places = {
  tools: { each: { parameters: 'schema', function: { parameters: 'schema' } } },
  response_format: FORMAT,
  text: { format: FORMAT },
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
