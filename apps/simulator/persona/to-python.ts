import { isRecord, type JsonValue } from '../constraints/json-text.ts'

/** A value of JSON as Python prints it. */
export function toPython(value: JsonValue): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return toPythonString(value)
  if (typeof value === 'number') return JSON.stringify(value)
  if (!isRecord(value)) return `[${value.map(toPython).join(', ')}]`
  const members = Object.entries(value).map(([key, inner]) => `${toPythonString(key)}: ${toPython(inner)}`)
  return `{${members.join(', ')}}`
}

function toPythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  return quote + inside.replaceAll(quote, `\\${quote}`) + quote
}
