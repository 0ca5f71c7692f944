import { NAMES_IN_JSON } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/** Phi 4 mini: `functools[{"name": NAME, "arguments": ARGUMENTS}, …]`. */
export const functools: ToolCallFormat = {
  example:
    'functools[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "clock", "arguments": {}}]',
  names: NAMES_IN_JSON,
  read: {
    type: 'text',
    list: {
      openers: ['functools'],
      unmarked: true,
      object: { type: 'object', close: null, strict: true },
    },
  },
  constrain: {
    trigger: 'functools[',
    section: { begin: 'functools[', end: ']' },
    begin: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    end: '}',
    separator: ', ',
  },
  write(calls) {
    const written = calls.map(({ name, json }) => `{"name": ${JSON.stringify(name)}, "arguments": ${json}}`)
    return `functools[${written.join(', ')}]`
  },
}
