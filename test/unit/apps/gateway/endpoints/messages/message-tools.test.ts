import { expect, it } from 'vitest'
import { prepare } from './prepared.ts'

const offered = (name: string, fields: object = {}) => ({ name, input_schema: { type: 'object' }, ...fields })
const tools = [
  offered('search'),
  offered('tide', { defer_loading: true }),
  offered('map', { defer_loading: true }),
]
const reference = { type: 'tool_reference', tool_name: 'tide' }
const question = { role: 'user', content: 'Q' }
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [reference] }] }

it.each<[string, object, string[]]>([
  ['nothing names', {}, ['search']],
  ['a result names', { messages: [question, result] }, ['search', 'tide']],
  ['the choice of tools forces', { tool_choice: { type: 'tool', name: 'map' } }, ['search', 'map']],
  [
    'only a search of Anthropic could find',
    { tools: [...tools, { type: 'tool_search_tool_regex_20251119', name: 'r' }] },
    ['search', 'tide', 'map'],
  ],
])('a model sees, of deferred tools that %s: %j', (_, body, names) => {
  expect(prepare({ messages: [question], tools, ...body }).request.tools.map(({ name }) => name)).toEqual(
    names,
  )
})
