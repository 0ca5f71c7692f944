/** A schema that is an object. `true` and `false` are schemas as well, but have no keywords. */
export type JsonSchema = JsonObject

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns whether a schema allows integers but no other numbers. Its bounds are then bounds of integers. */
export function allowsIntegersAlone({ type }: JsonSchema): boolean {
  return type === 'integer' || (Array.isArray(type) && type.includes('integer') && !type.includes('number'))
}

/** The reason why a schema is rejected, and the place of the problem as a JSON pointer from the root. */
export type SchemaProblem = { readonly pointer: string; readonly text: string }
