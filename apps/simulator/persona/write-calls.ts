import type { ModelFamily } from '#libs/dialect/family.ts'
import { toSpacedJson, type JsonValue } from '../constraints/json-text.ts'
import { toPython } from './to-python.ts'

export type CallFormat = Exclude<ModelFamily['toolCalls'], 'none'>

/** A call as a model means it; `json` is how it writes the arguments where the format has them as JSON. */
export type MeantCall = {
  readonly name: string
  readonly args: Readonly<Record<string, JsonValue>>
  readonly json: string
}

/** How a well-trained model writes calls, one or more, as its chat template shows them. */
export const CALL_WRITERS: Readonly<Record<CallFormat, (calls: readonly MeantCall[]) => string>> = {
  hermes: (calls) =>
    calls.map((call) => `<tool_call>\n${objectWith('arguments', call)}\n</tool_call>`).join('\n'),
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
  mistral: (calls) => `[TOOL_CALLS]${listOf(calls)}`,
  json: (calls) => calls.map((call) => objectWith('parameters', call)).join('; '),
  functools: (calls) => `functools${listOf(calls)}`,
  granite3: (calls) => `<|tool_call|>${listOf(calls)}`,
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

const listOf = (calls: readonly MeantCall[]) =>
  `[${calls.map((call) => objectWith('arguments', call)).join(', ')}]`

function objectWith(key: 'arguments' | 'parameters', { name, json }: MeantCall): string {
  return `{"name": ${JSON.stringify(name)}, "${key}": ${json}}`
}

const unquoted = (value: JsonValue) => (typeof value === 'string' ? value : toSpacedJson(value))
