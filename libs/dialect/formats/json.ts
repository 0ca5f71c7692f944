import { NAMES_IN_JSON } from '../syntax/name-rules.ts'
import type { CallGrammar, ToolCallFormat } from '../tool-call-format.ts'

/** The grammar of `json`. It also constrains the calls of formats that have no grammar of their own. */
export const JSON_GRAMMAR: CallGrammar = {
  begin: (name) => `{"name": ${JSON.stringify(name)}, "parameters": `,
  end: '}',
  separator: '; ',
}

/** Llama 3: `{"name": NAME, "parameters": ARGUMENTS}` as the whole output. Several calls are separated by `; `. */
export const json: ToolCallFormat = {
  example:
    '{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}; {"name": "clock", "parameters": {}}',
  names: NAMES_IN_JSON,
  read: {
    type: 'text',
    list: {
      openers: ['<|python_tag|>'],
      unmarked: true,
      object: { type: 'object', close: null, strict: true },
    },
    control: { leftovers: [] },
  },
  constrain: JSON_GRAMMAR,
  write: (calls) =>
    calls.map((call) => `{"name": ${JSON.stringify(call.name)}, "parameters": ${call.json}}`).join('; '),
}
