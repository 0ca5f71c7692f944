import { PYTHON_NAMES } from '../syntax/name-rules.ts'
import { toPython } from '../syntax/write-values.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/** Llama 4: the calls are the whole output, as `[NAME(KEY=VALUE, …), …]` in Python's syntax or as JSON objects. */
export const pythonic: ToolCallFormat = {
  example: "[get_weather(city='Paris', days=3), clock()]",
  names: PYTHON_NAMES,
  read: {
    type: 'text',
    list: {
      openers: ['<|python_start|>', '<|python_tag|>'],
      unmarked: true,
      object: { type: 'object', close: null, strict: true },
      bare: { behind: ['[', ','], syntax: { type: 'python' } },
    },
    control: { leftovers: ['<|python_end|>'] },
  },
  constrain: null,
  write(calls) {
    const written = calls.map(({ name, args }) => {
      const keywords = Object.entries(args).map(([key, value]) => `${key}=${toPython(value)}`)
      return `${name}(${keywords.join(', ')})`
    })
    return `[${written.join(', ')}]`
  },
}
