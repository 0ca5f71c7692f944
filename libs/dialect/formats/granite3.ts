import { NAMES_IN_JSON } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * Granite 3: `<|tool_call|>[{"name": NAME, "arguments": ARGUMENTS}, …]`. Granite 3.1 writes `<tool_call>` before the
 * list.
 */
export const granite3: ToolCallFormat = {
  example:
    '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "clock", "arguments": {}}]',
  names: NAMES_IN_JSON,
  read: {
    type: 'text',
    list: {
      openers: ['<|tool_call|>', '<tool_call>'],
      unmarked: false,
      object: { type: 'object', close: null, strict: false },
    },
  },
  constrain: {
    trigger: '<|tool_call|>',
    section: { begin: '<|tool_call|>[', end: ']' },
    begin: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    end: '}',
    separator: ', ',
  },
  write(calls) {
    const written = calls.map(({ name, json }) => `{"name": ${JSON.stringify(name)}, "arguments": ${json}}`)
    return `<|tool_call|>[${written.join(', ')}]`
  },
}
