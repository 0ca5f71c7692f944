import { TOOL_CALL_FORMAT_NAMES, TOOL_CALL_FORMATS } from './formats.ts'

/**
 * Returns why the models of a tool-call format cannot call a tool of this name, as the end of a refusal. Returns null
 * if they can, or if the format is not known here.
 */
export function checkToolName(format: string, name: string): string | null {
  const known = TOOL_CALL_FORMAT_NAMES.find((one) => one === format)
  if (known === undefined) return null
  const { names } = TOOL_CALL_FORMATS[known]
  return names.allows(name) ? null : names.expected
}
