import { BARE_NAMES } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * Kimi K2: one section of calls. Each call is
 * `<|tool_call_begin|>functions.NAME:NUMBER<|tool_call_argument_begin|>ARGUMENTS<|tool_call_end|>`.
 */
export const kimiK2: ToolCallFormat = {
  example:
    '<|tool_calls_section_begin|>' +
    '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris", "days": 3}<|tool_call_end|>' +
    '<|tool_call_begin|>functions.clock:1<|tool_call_argument_begin|>{}<|tool_call_end|>' +
    '<|tool_calls_section_end|>',
  names: BARE_NAMES,
  read: {
    type: 'text',
    calls: {
      '<|tool_call_begin|>': {
        type: 'named',
        nameEnd: '<|tool_call_argument_begin|>',
        close: '<|tool_call_end|>',
        toName: (written) => written.replace(/^functions\./, '').replace(/:\d+$/, ''),
      },
    },
    section: { open: '<|tool_calls_section_begin|>', close: '<|tool_calls_section_end|>' },
    control: { leftovers: ['<|tool_call_argument_begin|>', '<|tool_call_end|>'] },
  },
  constrain: {
    trigger: '<|tool_calls_section_begin|>',
    section: { begin: '<|tool_calls_section_begin|>', end: '<|tool_calls_section_end|>' },
    // A grammar cannot count, so the number of every call is 0. The parser ignores the number.
    begin: (name) => `<|tool_call_begin|>functions.${name}:0<|tool_call_argument_begin|>`,
    end: '<|tool_call_end|>',
    separator: '',
  },
  write(calls) {
    const written = calls.map(
      ({ name, json }, i) =>
        `<|tool_call_begin|>functions.${name}:${i}<|tool_call_argument_begin|>${json}<|tool_call_end|>`,
    )
    return `<|tool_calls_section_begin|>${written.join('')}<|tool_calls_section_end|>`
  },
}
