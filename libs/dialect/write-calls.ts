import { z } from 'zod'
import type { ModelFamily } from './family.ts'
import { TOOL_CALL_FORMATS } from './formats.ts'
import type { JsonValue } from './syntax/write-values.ts'

/**
 * Returns a function that writes calls as the models of a family write them; null for a family without calls. The
 * function is for chat templates that print no calls. The values of `args` come from JSON or from `parseExact`.
 */
export function openCallWriter(
  format: ModelFamily['toolCalls'],
):
  | ((calls: readonly { readonly name: string; readonly args: object; readonly json: string }[]) => string)
  | null {
  if (format === 'none') return null
  const { write } = TOOL_CALL_FORMATS[format]
  return (calls) => write(calls.map(({ name, args, json }) => ({ name, args: Values.parse(args), json })))
}

/** JSON values, unchecked: a copy would lose the numbers of `parseExact`. */
const Values = z.record(z.string(), z.custom<JsonValue>())
