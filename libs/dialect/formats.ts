import type { TextFormatName } from './family.ts'
import type { ParameterSyntax } from './syntax/parameter-call.ts'
import type { ToolFormat } from './syntax/text-with-calls.ts'

const deepSeekSection = { open: '<｜tool▁calls▁begin｜>', close: '<｜tool▁calls▁end｜>' }
const deepSeekControl = { leftovers: ['<｜tool▁sep｜>', '<｜tool▁call▁end｜>'] }
const asWritten = (name: string) => name

/** What the formats look like, told by what their models' templates show. */
export const TOOL_FORMATS: Readonly<Record<TextFormatName, ToolFormat>> = {
  // <tool_call>{"name": …, "arguments": {…}}</tool_call>
  hermes: {
    calls: { '<tool_call>': { type: 'object', close: '</tool_call>', strict: false } },
    section: null,
    list: null,
    control: null,
  },
  // <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>
  'qwen3-coder': {
    calls: {
      '<function=': {
        type: 'parameters',
        nameEnd: '>',
        keyOpen: '<parameter=',
        keyEnd: '>',
        valueOpen: null,
        valueEnd: '</parameter>',
        close: '</function>',
        ownLines: true,
      },
    },
    section: { open: '<tool_call>', close: '</tool_call>' },
    list: null,
    control: null,
  },
  // <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME ```json {…} ``` <｜tool▁call▁end｜>…
  'deepseek-v3': {
    calls: {
      '<｜tool▁call▁begin｜>': {
        type: 'named',
        prefix: 'function<｜tool▁sep｜>',
        nameEnd: '\n',
        close: '<｜tool▁call▁end｜>',
        toName: asWritten,
      },
    },
    section: deepSeekSection,
    list: null,
    control: deepSeekControl,
  },
  // <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>…
  'deepseek-v3.1': {
    calls: {
      '<｜tool▁call▁begin｜>': {
        type: 'named',
        prefix: '',
        nameEnd: '<｜tool▁sep｜>',
        close: '<｜tool▁call▁end｜>',
        toName: asWritten,
      },
    },
    section: deepSeekSection,
    list: null,
    control: deepSeekControl,
  },
  // <｜DSML｜function_calls><｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">VALUE…
  'deepseek-v3.2': invocations('｜DSML｜', '｜DSML｜function_calls'),
  // <minimax:tool_call><invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke></minimax:tool_call>
  'minimax-m2': invocations('', 'minimax:tool_call'),
  // <|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>…
  'kimi-k2': {
    calls: {
      '<|tool_call_begin|>': {
        type: 'named',
        prefix: '',
        nameEnd: '<|tool_call_argument_begin|>',
        close: '<|tool_call_end|>',
        toName: (written) => written.replace(/^functions\./, '').replace(/:\d+$/, ''),
      },
    },
    section: { open: '<|tool_calls_section_begin|>', close: '<|tool_calls_section_end|>' },
    list: null,
    control: { leftovers: ['<|tool_call_argument_begin|>', '<|tool_call_end|>'] },
  },
  // <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>
  'glm-4.5': {
    calls: {
      '<tool_call>': {
        type: 'parameters',
        nameEnd: null,
        keyOpen: '<arg_key>',
        keyEnd: '</arg_key>',
        valueOpen: '<arg_value>',
        valueEnd: '</arg_value>',
        close: '</tool_call>',
        ownLines: false,
      },
    },
    section: null,
    list: null,
    control: null,
  },
  // [TOOL_CALLS][{"name": …, "arguments": {…}}], or [TOOL_CALLS]NAME[ARGS]{…} of newer tokenizers
  mistral: {
    calls: {},
    section: null,
    list: {
      openers: ['[TOOL_CALLS]'],
      unmarked: false,
      object: { type: 'object', close: null, strict: false },
      bare: {
        behind: ['[TOOL_CALLS]'],
        syntax: {
          type: 'named',
          prefix: '',
          nameEnd: '[ARGS]',
          close: null,
          // Some releases write an id behind the name.
          toName: (written) => written.replace(/\[CALL_ID\].*/, ''),
        },
      },
    },
    control: { leftovers: ['[ARGS]'] },
  },
  // {"name": …, "parameters": {…}} as the whole answer
  json: {
    calls: {},
    section: null,
    list: {
      openers: ['<|python_tag|>'],
      unmarked: true,
      object: { type: 'object', close: null, strict: true },
      bare: null,
    },
    control: { leftovers: [] },
  },
  // functools[{"name": …, "arguments": {…}}]
  functools: {
    calls: {},
    section: null,
    list: {
      openers: ['functools'],
      unmarked: true,
      object: { type: 'object', close: null, strict: true },
      bare: null,
    },
    control: null,
  },
  // <|tool_call|>[{"name": …, "arguments": {…}}], or <tool_call>[…] of Granite 3.1
  granite3: {
    calls: {},
    section: null,
    list: {
      openers: ['<|tool_call|>', '<tool_call>'],
      unmarked: false,
      object: { type: 'object', close: null, strict: false },
      bare: null,
    },
    control: null,
  },
  // <|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": {…}}]<|END_ACTION|>
  cohere: {
    calls: {},
    section: null,
    list: {
      openers: ['<|START_ACTION|>'],
      unmarked: false,
      object: { type: 'object', close: null, strict: false },
      bare: null,
    },
    control: { leftovers: ['<|END_ACTION|>'] },
  },
  // [NAME(KEY=VALUE, …), …] or JSON objects as the whole answer
  pythonic: {
    calls: {},
    section: null,
    list: {
      openers: ['<|python_start|>', '<|python_tag|>'],
      unmarked: true,
      object: { type: 'object', close: null, strict: true },
      bare: { behind: ['[', ','], syntax: { type: 'python' } },
    },
    control: { leftovers: ['<|python_end|>'] },
  },
}

function invocations(prefix: string, sectionTag: string): ToolFormat {
  const syntax: ParameterSyntax = {
    type: 'parameters',
    nameEnd: '>',
    keyOpen: `<${prefix}parameter name=`,
    keyEnd: '>',
    valueOpen: null,
    valueEnd: `</${prefix}parameter>`,
    close: `</${prefix}invoke>`,
    ownLines: false,
  }
  return {
    calls: { [`<${prefix}invoke name=`]: syntax },
    section: { open: `<${sectionTag}>`, close: `</${sectionTag}>` },
    list: null,
    control: null,
  }
}

/** What calls begin with, where something marks them. */
export function beginningsOf({ section, list, calls }: ToolFormat): readonly string[] {
  const opens = section === null ? Object.keys(calls) : [section.open]
  return [...opens, ...(list?.openers ?? [])]
}

/** Every text that a format has a meaning for. */
export function markersOf({ section, list, calls, control }: ToolFormat): readonly string[] {
  const inCalls = [...Object.values(calls), list?.object, list?.bare?.syntax].flatMap((syntax) => {
    switch (syntax?.type) {
      case 'object':
        return [syntax.close]
      case 'named':
        return [syntax.prefix, syntax.nameEnd, syntax.close]
      case 'parameters':
        return [syntax.keyOpen, syntax.keyEnd, syntax.valueOpen, syntax.valueEnd, syntax.close]
      case 'python':
      case undefined:
        return []
    }
  })
  const around = section === null ? [] : [section.open, section.close]
  return [
    ...Object.keys(calls),
    ...inCalls,
    ...around,
    ...(list?.openers ?? []),
    ...(control?.leftovers ?? []),
  ].filter((marker) => marker !== null)
}
