import * as fc from 'fast-check'
import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { ToolCallFormatName } from '#libs/dialect/formats.ts'
import type { CallToWrite } from '#libs/dialect/tool-call-format.ts'

export const search: ToolDefinition = {
  name: 'search',
  description: null,
  parameters: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      count: { type: 'integer' },
      ratio: { type: ['number', 'null'] },
      exact: { type: 'boolean' },
      filters: { $ref: '#/$defs/filters' },
    },
    $defs: { filters: { type: 'array', items: { type: 'object' } } },
  },
}
export const clock: ToolDefinition = { name: 'world_clock', description: null, parameters: null }

/** Formats that write values without quotes between tags. */
const UNQUOTED: ReadonlySet<ToolCallFormatName> = new Set([
  'qwen3-coder',
  'deepseek-v3.2',
  'minimax-m2',
  'glm-4.5',
])

/** Formats whose arguments are not JSON: the parser writes the JSON itself. */
export const TRANSLATED: ReadonlySet<ToolCallFormatName> = new Set([...UNQUOTED, 'pythonic'])

/** Formats without markers: calls after text are text too. */
export const UNMARKED: ReadonlySet<ToolCallFormatName> = new Set(['json', 'pythonic'])

/** Text without the characters that only JSON can escape within a value. */
const plainText = fc
  .string({ unit: 'grapheme', maxLength: 20 })
  .map((text) => text.replaceAll(/[<\n\r]/g, '·'))
  .filter((text) => text !== 'null')

const markedText = fc.constantFrom(
  '</tool_call>',
  '[TOOL_CALLS]',
  '{"name": "f", "parameters": {}}',
  '"}]}\\',
  ' \n',
  '<',
)

/** Generates any calls of `search` and `world_clock` that the format can express. */
export function anyCalls(format: ToolCallFormatName): fc.Arbitrary<CallToWrite[]> {
  const text = UNQUOTED.has(format) ? plainText : fc.oneof(plainText, markedText)
  const args = fc.record(
    {
      text,
      count: fc.integer(),
      ratio: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0)),
      exact: fc.boolean(),
      filters: fc.array(fc.dictionary(fc.constantFrom('a', '"', ']'), text, { noNullPrototype: true })),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  const ofSearch = fc.tuple(args, fc.constantFrom(0, 2)).map(([values, indent]) => ({
    name: 'search',
    args: values,
    json: JSON.stringify(values, null, indent),
  }))
  const ofClock = fc.constant({ name: 'world_clock', args: {}, json: '{}' })
  return fc.array(fc.oneof(ofSearch, ofClock), { minLength: 1, maxLength: 3 })
}
