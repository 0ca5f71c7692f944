export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** JSON with a blank after `:` and `,`, as models write it because Python's json.dumps does. */
export function toSpacedJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(toSpacedJson).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${toSpacedJson(member)}`,
  )
  return `{${members.join(', ')}}`
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value)
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for what JSON.parse returns; used where a schema gives the value itself (`const`, `enum`, `default`). */
export function isJsonValue(value: unknown): value is JsonValue {
  if (value === null || ['boolean', 'number', 'string'].includes(typeof value)) return true
  if (Array.isArray(value)) return value.every(isJsonValue)
  return isRecord(value) && Object.values(value).every(isJsonValue)
}
