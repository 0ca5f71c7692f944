import * as fc from 'fast-check'
import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from '#libs/contracts/model-family.ts'

export type Format = Exclude<ModelFamily['toolCalls'], 'none'>

/** A call as a model means it; `json` is how it writes the arguments where the format has them as JSON. */
export type MeantCall = {
  readonly name: string
  readonly args: Record<string, unknown>
  readonly json: string
}

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

/** How a well-trained model writes calls, as its chat template shows them. */
export const WRITERS: Readonly<Record<Format, (calls: readonly MeantCall[]) => string>> = {
  hermes: (calls) =>
    calls
      .map(({ name, json }) => `<tool_call>\n{"name": "${name}", "arguments": ${json}}\n</tool_call>`)
      .join('\n'),
  'qwen3-coder': (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `<parameter=${key}>\n${unquoted(value)}\n</parameter>\n`,
        )
        return `<tool_call>\n<function=${name}>\n${parameters.join('')}</function>\n</tool_call>`
      })
      .join('\n'),
  'deepseek-v3': (calls) =>
    `<｜tool▁calls▁begin｜>${calls
      .map(
        ({ name, json }) =>
          `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${json}\n\`\`\`<｜tool▁call▁end｜>`,
      )
      .join('\n')}<｜tool▁calls▁end｜>`,
  'deepseek-v3.1': (calls) =>
    `<｜tool▁calls▁begin｜>${calls
      .map(({ name, json }) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${json}<｜tool▁call▁end｜>`)
      .join('')}<｜tool▁calls▁end｜>`,
  'deepseek-v3.2': (calls) => {
    const invocations = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, value]) =>
          `<｜DSML｜parameter name="${key}" string="${typeof value === 'string'}">${unquoted(value)}</｜DSML｜parameter>\n`,
      )
      return `<｜DSML｜invoke name="${name}">\n${parameters.join('')}</｜DSML｜invoke>\n`
    })
    return `<｜DSML｜function_calls>\n${invocations.join('')}</｜DSML｜function_calls>`
  },
  'minimax-m2': (calls) => {
    const invocations = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, value]) => `<parameter name="${key}">${unquoted(value)}</parameter>\n`,
      )
      return `<invoke name="${name}">\n${parameters.join('')}</invoke>\n`
    })
    return `<minimax:tool_call>\n${invocations.join('')}</minimax:tool_call>`
  },
  'kimi-k2': (calls) =>
    `<|tool_calls_section_begin|>${calls
      .map(
        ({ name, json }, i) =>
          `<|tool_call_begin|>functions.${name}:${i}<|tool_call_argument_begin|>${json}<|tool_call_end|>`,
      )
      .join('')}<|tool_calls_section_end|>`,
  'glm-4.5': (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${unquoted(value)}</arg_value>\n`,
        )
        return `<tool_call>${name}\n${parameters.join('')}</tool_call>`
      })
      .join('\n'),
  mistral: (calls) =>
    `[TOOL_CALLS][${calls.map(({ name, json }) => `{"name": "${name}", "arguments": ${json}}`).join(', ')}]`,
  json: (calls) => calls.map(({ name, json }) => `{"name": "${name}", "parameters": ${json}}`).join('; '),
  functools: (calls) =>
    `functools[${calls.map(({ name, json }) => `{"name": "${name}", "arguments": ${json}}`).join(', ')}]`,
  granite3: (calls) =>
    `<|tool_call|>[${calls.map(({ name, json }) => `{"name": "${name}", "arguments": ${json}}`).join(', ')}]`,
  cohere: (calls) => {
    const written = calls.map(
      ({ name, json }, i) => `    {"tool_call_id": "${i}", "tool_name": "${name}", "parameters": ${json}}`,
    )
    return `<|START_ACTION|>[\n${written.join(',\n')}\n]<|END_ACTION|>`
  },
  pythonic: (calls) => {
    const written = calls.map(({ name, args }) => {
      const keywords = Object.entries(args).map(([key, value]) => `${key}=${toPython(value)}`)
      return `${name}(${keywords.join(', ')})`
    })
    return `[${written.join(', ')}]`
  },
  harmony: (calls) =>
    calls
      .map(
        ({ name, json }) =>
          `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${json}<|call|>`,
      )
      .join('<|start|>assistant'),
}

/** Their values stand without quotes between tags. */
const UNQUOTED: ReadonlySet<Format> = new Set(['qwen3-coder', 'deepseek-v3.2', 'minimax-m2', 'glm-4.5'])

/** What a model writes as arguments is no JSON, so the JSON is ours. */
export const TRANSLATED: ReadonlySet<Format> = new Set([...UNQUOTED, 'pythonic'])

/** Nothing marks their calls: behind text, they are text as well. */
export const UNMARKED: ReadonlySet<Format> = new Set(['json', 'pythonic'])

const unquoted = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** As Python prints a value of JSON. */
function toPython(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return toPythonString(value)
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(([key, inner]) => `${toPythonString(key)}: ${toPython(inner)}`)
  return `{${members.join(', ')}}`
}

function toPythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  return quote + inside.replaceAll(quote, `\\${quote}`) + quote
}

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
export function meantCalls(format: Format): fc.Arbitrary<MeantCall[]> {
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
