import { TOOL_CALL_FORMATS, type ToolCallFormatName } from '#libs/dialect/formats.ts'
import { createTextWithCalls } from '#libs/dialect/syntax/text-with-calls.ts'
import { clock, search } from './any-calls.ts'

export type Parts = { text: string; calls: { name: string; arguments: string }[] }

/** Further tool names in the tests' outputs. In formats without markers, only a known tool name makes a call. */
const OTHERS = ['f', 'g', 'get_weather', 'clock', 'weather.get-now'].map((name) => ({
  name,
  description: null,
  parameters: null,
}))

/** A parser of a format, and the text and calls that it has returned so far. */
export function parserOf(
  format: ToolCallFormatName,
  { single = false, names = [] }: { single?: boolean; names?: readonly string[] } = {},
) {
  const parts: Parts = { text: '', calls: [] }
  const named = names.map((name) => ({ name, description: null, parameters: null }))
  const tools = [search, clock, ...OTHERS, ...named]
  const sink: Parameters<typeof createTextWithCalls>[0] & { onReasoning: (text: string) => void } = {
    onText: (text) => (parts.text += text),
    onReasoning: (text) => (parts.text += text),
    onStart: (name) => parts.calls.push({ name, arguments: '' }),
    onArguments(text) {
      const call = parts.calls.at(-1)
      if (call === undefined) throw new Error('arguments before a call')
      call.arguments += text
    },
  }
  const syntax = TOOL_CALL_FORMATS[format].read
  const parser =
    syntax.type === 'messages'
      ? syntax.open(sink, { tools: true, single })
      : createTextWithCalls(sink, { syntax, tools, single })
  return { parser, parts }
}

export function parseWith(
  format: ToolCallFormatName,
  pieces: readonly string[],
  options: { single?: boolean; names?: readonly string[] } = {},
): Parts {
  const { parser, parts } = parserOf(format, options)
  for (const piece of pieces) parser.push(piece)
  parser.finish()
  return parts
}
