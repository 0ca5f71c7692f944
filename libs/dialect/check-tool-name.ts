import { TOOL_CALL_FORMAT_NAMES, TOOL_CALL_FORMATS } from './formats.ts'

/**
 * Returns null if the models of a tool-call format can call a tool of this name, or if the format is not known here.
 * Otherwise returns the reason, in words that can stand at the end of an error message.
 */
export function checkToolName(format: string, name: string): string | null {
  const known = TOOL_CALL_FORMAT_NAMES.find((one) => one === format)
  if (known === undefined) return null
  const { names } = TOOL_CALL_FORMATS[known]
  return names.allows(name) ? null : names.expected
}
