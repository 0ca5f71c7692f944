import { NAMES_IN_JSON } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * The models of Cohere: `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": NAME, "parameters": ARGUMENTS},
 * …]<|END_ACTION|>`.
 */
export const cohere: ToolCallFormat = {
  example: `<|START_ACTION|>[
    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris", "days": 3}},
    {"tool_call_id": "1", "tool_name": "clock", "parameters": {}}
]<|END_ACTION|>`,
  names: NAMES_IN_JSON,
  read: {
    type: 'text',
    list: {
      openers: ['<|START_ACTION|>'],
      unmarked: false,
      object: { type: 'object', close: null, strict: false },
    },
    control: { leftovers: ['<|END_ACTION|>'] },
  },
  constrain: {
    trigger: '<|START_ACTION|>',
    section: { begin: '<|START_ACTION|>[\n    ', end: '\n]<|END_ACTION|>' },
    // A grammar cannot count, so the id of every call is 0. In the next prompt the template numbers the calls itself.
    begin: (name) => `{"tool_call_id": "0", "tool_name": ${JSON.stringify(name)}, "parameters": `,
    end: '}',
    separator: ',\n    ',
  },
  write(calls) {
    const written = calls.map(
      ({ name, json }, i) => `    {"tool_call_id": "${i}", "tool_name": "${name}", "parameters": ${json}}`,
    )
    return `<|START_ACTION|>[\n${written.join(',\n')}\n]<|END_ACTION|>`
  },
}
