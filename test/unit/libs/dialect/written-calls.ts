import * as fc from 'fast-check'
import type { CallFormat, MeantCall } from '#apps/simulator/persona/write-calls.ts'
import type { ToolDefinition } from '#libs/contracts/generation-request.ts'

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

/** Their values stand without quotes between tags. */
const UNQUOTED: ReadonlySet<CallFormat> = new Set(['qwen3-coder', 'deepseek-v3.2', 'minimax-m2', 'glm-4.5'])

/** What a model writes as arguments is no JSON, so the JSON is ours. */
export const TRANSLATED: ReadonlySet<CallFormat> = new Set([...UNQUOTED, 'pythonic'])

/** Nothing marks their calls: behind text, they are text as well. */
export const UNMARKED: ReadonlySet<CallFormat> = new Set(['json', 'pythonic'])

/** No format but JSON can say these within a value. */
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

/** Any call of `search` or `world_clock` that the format can say. */
export function meantCalls(format: CallFormat): fc.Arbitrary<MeantCall[]> {
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
