/** A schema that is an object. `true` and `false` are schemas as well, but have no keywords. */
export type JsonSchema = JsonObject

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a schema's numbers are all integers, so that its bounds are those of integers. */
export function allowsIntegersAlone({ type }: JsonSchema): boolean {
  return type === 'integer' || (Array.isArray(type) && type.includes('integer') && !type.includes('number'))
}

/** Why a schema is rejected, and the place as a JSON pointer from its root. */
export type SchemaProblem = { readonly pointer: string; readonly text: string }
