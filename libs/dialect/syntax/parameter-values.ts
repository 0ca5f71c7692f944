import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import { resolveReference } from '#libs/json-schema/references.ts'
import { createPythonLiteral } from './python-literal.ts'

/** The types that a tool's schema allows for a parameter; null: it does not say. */
export type DeclaredTypes = ReadonlySet<string> | null

/** Returns the types that a tool's schema declares for a parameter. Follows local references and alternatives. */
export function declaredTypes(tool: ToolDefinition | undefined, parameter: string): DeclaredTypes {
  const root: unknown = tool?.parameters
  const types = new Set<string>()
  collectTypes(field(field(root, 'properties'), parameter), types, { root, depth: 0 })
  return types.size === 0 ? null : types
}

type Place = { readonly root: unknown; readonly depth: number }

function collectTypes(schema: unknown, types: Set<string>, { root, depth }: Place): void {
  if (depth > MAX_DEPTH) return
  const inside = { root, depth: depth + 1 }
  const type = field(schema, 'type')
  for (const name of Array.isArray(type) ? type : [type]) if (typeof name === 'string') types.add(name)
  // OpenAPI 3.0 has no type `null`.
  if (field(schema, 'nullable') === true) types.add('null')
  const values: unknown = field(schema, 'enum') ?? [field(schema, 'const')]
  if (Array.isArray(values)) for (const value of values) if (value !== undefined) types.add(typeOf(value))
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const inner = field(schema, keyword)
    if (Array.isArray(inner)) for (const item of inner) collectTypes(item, types, inside)
  }
  const reference = field(schema, '$ref')
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return
  collectTypes(resolveReference(root, reference), types, inside)
}

/** Limits the levels, because references may be circular. */
const MAX_DEPTH = 8

/** Returns whether the text of a parameter is always a string, so that it can be emitted as it comes. */
export function isAlwaysText(types: DeclaredTypes): boolean {
  return types !== null && types.size === 1 && types.has('string')
}

/**
 * Returns the JSON of a parameter that was written without quotes. `types` are the types that the tool's schema
 * declares; if `types` is null, every type counts as declared.
 * - Text that is JSON of a declared type other than string is used unchanged. Python's `True`, `False` and `None` count
 *   as the words of JSON. If the schema declares integers but no other numbers, a number is written without fraction
 *   and exponent.
 * - If types are declared and string is not one of them, two more forms of a declared type are accepted: a literal of
 *   another language (such as `nil` or a Python list), and a value in quotes (such as `"3"` for 3).
 * - Any other text becomes a string. Quotes are part of that string, because no template writes them as markup.
 */
export function toJsonText(written: string, types: DeclaredTypes): string {
  for (const json of readings(written.trim(), types)) {
    const value = parseJson(json)
    if (value === undefined || typeof value === 'string' || (types !== null && !isOf(value, types))) continue
    return types?.has('number') === false && typeof value === 'number' ? toWholeText(json, value) : json
  }
  return JSON.stringify(written)
}

/** Yields the JSON that a text may mean, the likeliest first. */
function* readings(text: string, types: DeclaredTypes): Generator<string> {
  yield PYTHON[text] ?? text
  if (types === null || types.has('string')) return
  for (const bare of [text, /^(["'])(.*)\1$/s.exec(text)?.[2]]) {
    if (bare === undefined) continue
    yield OTHER_LANGUAGES[bare.toLowerCase()] ?? bare
    const json = fromPython(bare)
    if (json !== null) yield json
  }
}

/** Returns all digits of a whole number, however it was written. */
const toWholeText = (json: string, value: number): string =>
  /^-?\d+$/.test(json) ? json : String(BigInt(value))

/** Returns the JSON of a Python literal; null for any other text. */
function fromPython(text: string): string | null {
  let json = ''
  const literal = createPythonLiteral((part) => {
    json += part
  })
  // A number or word ends at the first character after it.
  const end = literal.read(`${text}\n`, 0)
  return literal.state() === 'over' && end >= text.length ? json : null
}

function isOf(value: unknown, types: ReadonlySet<string>): boolean {
  const type = typeOf(value)
  return types.has(type) || (type === 'integer' && types.has('number'))
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Some templates print values as Python does, and models imitate them. */
const PYTHON: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  True: 'true',
  False: 'false',
  None: 'null',
})

/** JSON words by the lower case of the words of other languages. */
const OTHER_LANGUAGES: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  true: 'true',
  false: 'false',
  null: 'null',
  none: 'null',
  nil: 'null',
  undefined: 'null',
})

function field(holder: unknown, name: string): unknown {
  const object = Object(holder)
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Returns undefined for invalid JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
