import { z } from 'zod'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { mayChange } from '#libs/json-schema/exact-json.ts'
import { isJsonObject, type JsonObject } from '#libs/json-schema/json-schema.ts'
import { jsonParts } from '../../http/json-parts.ts'

/** The texts of values, by the value's object in the parsed body. */
const texts = new WeakMap<object, string>()

/**
 * Notes the texts of the values in a body that reach a prompt, a grammar or the caller as JSON, so that `exactText` can
 * return them. Only values that JavaScript might write in another way are noted: numbers such as `1.0`, integers with
 * more digits than a double has, and the order of names. `json` is the text of `body`. It is read only if the body has
 * such values, and its parts are read at most once for each level of nesting in `PLACES`.
 */
export function noteExactTexts(body: JsonObject, json: string): void {
  note(body, () => json, PLACES)
}

/** Notes the text of a value that the body contains as a string. */
export function noteExactText(value: object, json: string): void {
  if (mayChange(json)) texts.set(value, json)
}

/** Returns the noted text of a value; undefined if JavaScript's own JSON of the value is equal. */
export const exactText = (value: object): string | undefined => texts.get(value)

/** Returns the JSON of a value in the body, with the caller's numbers and order of names. */
export const toExactJson = (value: unknown): string =>
  (typeof value === 'object' && value !== null ? exactText(value) : undefined) ?? JSON.stringify(value)

/** An object or a list that is read as its JSON. PHP writes an empty object as an empty list. */
export const ObjectJson = jsonOf((value) => (isEmptyList(value) ? {} : isJsonObject(value) ? value : null), {
  expected: 'expected an object',
  documented: z.record(z.string(), z.unknown()),
})
export const listJson = (expected: string) =>
  jsonOf((value) => (Array.isArray(value) ? value : null), { expected, documented: z.array(z.unknown()) })

function jsonOf(
  read: (value: unknown) => object | null,
  { expected, documented }: { expected: string; documented: z.ZodType },
) {
  return z
    .unknown()
    .transform((given, context): string => {
      const value = read(given)
      if (value !== null) return toExactJson(value)
      context.addIssue({ code: 'custom', message: expected })
      return z.NEVER
    })
    .meta(documentedAs(documented))
}

export const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0

/** The places of values within a value. `each` describes every element of a list. */
type Places = { readonly [name: string]: Places | 'value' } | { readonly each: Places }

const FORMAT: Places = { schema: 'value', json_schema: { schema: 'value' } }

const TOOL = { parameters: 'value', input_schema: 'value', function: { parameters: 'value' } } as const
const TOOLS: Places = { each: { ...TOOL, tools: { each: TOOL } } }

const PLACES: Places = {
  tools: TOOLS,
  response_format: FORMAT,
  text: { format: FORMAT },
  output_config: { format: FORMAT },
  output_format: FORMAT,
  structured_outputs: { json: 'value' },
  guided_json: 'value',
  messages: { each: { content: { each: { input: 'value' } } } },
  input: {
    each: {
      action: 'value',
      operation: 'value',
      queries: 'value',
      results: 'value',
      output: 'value',
      outputs: 'value',
      error: 'value',
      tools: TOOLS,
    },
  },
}

/** `text` returns the JSON of `value`; undefined if it does not change. */
function note(value: unknown, text: () => string | undefined, places: Places | 'value'): void {
  if (typeof value !== 'object' || value === null) return
  if (places === 'value') {
    noteExactText(value, text() ?? '')
    return
  }
  let parts: ReadonlyMap<string, string> | undefined
  const partOf = (name: string) => () => {
    parts ??= toParts(text())
    return parts.get(name)
  }
  for (const [name, inner] of Object.entries(places)) {
    if (name === 'each' && Array.isArray(value)) {
      for (const [index, item] of value.entries()) note(item, partOf(String(index)), inner)
    } else note(Reflect.get(value, name), partOf(name), inner)
  }
}

function toParts(json: string | undefined): ReadonlyMap<string, string> {
  return json === undefined || !mayChange(json) ? NO_PARTS : jsonParts(json)
}

const NO_PARTS: ReadonlyMap<string, string> = new Map()
