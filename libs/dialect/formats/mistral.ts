import { NAMES_BEFORE_BRACKETS } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * The models of Mistral: `[TOOL_CALLS][{"name": NAME, "arguments": ARGUMENTS}, …]`, or with newer tokenizers
 * `[TOOL_CALLS]NAME[ARGS]ARGUMENTS` for each call.
 */
export const mistral: ToolCallFormat = {
  example:
    '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "clock", "arguments": {}}]',
  names: NAMES_BEFORE_BRACKETS,
  read: {
    type: 'text',
    list: {
      openers: ['[TOOL_CALLS]'],
      unmarked: false,
      object: { type: 'object', close: null, strict: false },
      bare: {
        behind: ['[TOOL_CALLS]'],
        syntax: {
          type: 'named',
          nameEnd: '[ARGS]',
          close: null,
          // Some releases write an id after the name.
          toName: (written) => written.replace(/\[CALL_ID\].*/, ''),
        },
      },
    },
    control: { leftovers: ['[ARGS]'] },
  },
  constrain: {
    trigger: '[TOOL_CALLS]',
    section: { begin: '[TOOL_CALLS][', end: ']' },
    begin: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    end: '}',
    separator: ', ',
  },
  write(calls) {
    const written = calls.map(({ name, json }) => `{"name": ${JSON.stringify(name)}, "arguments": ${json}}`)
    return `[TOOL_CALLS][${written.join(', ')}]`
  },
}
