import { expect, test } from 'vitest'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { answerTo, clock, user, weather } from './persona-under-test.ts'

const tag = (name: string) => ({
  begin: `<tool_call>\n{"name": "${name}", "arguments": `,
  content: { type: 'json_schema', json_schema: { type: 'object' } },
  end: '}\n</tool_call>',
})

/** Returns the grammar of a turn that is one call of any of these tools. */
const oneOf = (names: readonly string[]) => {
  const format = {
    type: 'tags_with_separator',
    tags: names.map(tag),
    separator: '\n',
    at_least_one: true,
    stop_after_first: true,
  }
  const structuralTag = JSON.stringify({ type: 'structural_tag', format })
  return { constraint: 'structuralTag', structuralTag } as const
}

test('a forced call is one without a result since the last message of the user, as long as there is one', async () => {
  const tools = [weather, clock, { ...clock, name: 'Answer' }]
  const constraint = oneOf(tools.map(({ name }) => name))
  const messages: ChatMessage[] = [user('The weather in Rome')]
  const called: string[] = []
  for (const id of ['c0', 'c1', 'c2', 'c3']) {
    const answer = await answerTo({ messages, tools, constraint })
    const name = /"name": "(\w+)"/u.exec(answer)?.[1] ?? ''
    called.push(name)
    const toolCalls = [{ id, name, arguments: '{}' }]
    messages.push({ role: 'assistant', content: '', reasoning: '', toolCalls })
    messages.push({ role: 'tool', content: 'done', toolCallId: id })
  }
  expect(called).toEqual(['get_weather', 'worldClock', 'Answer', 'get_weather'])
  messages.push(user('The weather in Paris'))
  expect(await answerTo({ messages, tools, constraint })).toContain('"get_weather"')
})
