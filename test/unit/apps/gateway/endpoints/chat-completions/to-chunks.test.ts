import { expect, it } from 'vitest'
import { createChatChunks } from '#apps/gateway/endpoints/chat-completions/to-chunks.ts'
import { createAnswer } from '#test/support/answer.ts'

it('chat chunks never merge the arguments of two calls, even when their deltas alternate', () => {
  const chunks = createChatChunks(
    createAnswer({ id: '0197-x', model: 'org/demo', options: { includeUsage: false, logprobs: false } }),
  )
  const args = (index: number, text: string) => ({ type: 'tool-call-delta', index, text }) as const
  const events = chunks.render([
    { type: 'tool-call-start', index: 0, id: 'c0', name: 'f' },
    args(0, '{"a"'),
    args(0, ':1}'),
    { type: 'tool-call-start', index: 1, id: 'c1', name: 'g' },
    args(1, '{'),
    args(0, ' '),
    args(1, '}'),
  ])
  const deltas = events.split('\n\n').flatMap((event) => /"delta":(\{.*\}),"finish/.exec(event)?.[1] ?? [])
  const more = (index: number, text: string) => ({ index, function: { arguments: text } })
  const started = (index: number, name: string) => ({
    index,
    id: `c${index}`,
    type: 'function',
    function: { name, arguments: '' },
  })
  expect(deltas.slice(1).map((delta) => JSON.parse(delta).tool_calls)).toEqual(
    [started(0, 'f'), more(0, '{"a":1}'), started(1, 'g'), more(1, '{'), more(0, ' '), more(1, '}')].map(
      (call) => [call],
    ),
  )
})
