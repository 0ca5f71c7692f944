import { NAMES_IN_JSON } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/** Hermes, Qwen 2.5 and 3, Granite 4: `<tool_call>{"name": NAME, "arguments": ARGUMENTS}</tool_call>` for each call. */
export const hermes: ToolCallFormat = {
  example: `<tool_call>
{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}
</tool_call>
<tool_call>
{"name": "clock", "arguments": {}}
</tool_call>`,
  names: NAMES_IN_JSON,
  read: {
    type: 'text',
    calls: { '<tool_call>': { type: 'object', close: '</tool_call>', strict: false } },
  },
  constrain: {
    trigger: '<tool_call>',
    begin: (name) => `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": `,
    end: '}\n</tool_call>',
    separator: '\n',
  },
  write: (calls) =>
    calls
      .map(
        ({ name, json }) =>
          `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${json}}\n</tool_call>`,
      )
      .join('\n'),
}
