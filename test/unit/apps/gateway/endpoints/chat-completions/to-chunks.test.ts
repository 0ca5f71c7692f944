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

it('the chunks of several answers alternate, and the stream ends with the last of them', () => {
  const chunks = createChatChunks(
    createAnswer({
      id: '0197-x',
      model: 'org/demo',
      options: { includeUsage: true, logprobs: false, choices: 2 },
    }),
  )
  const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
  const end = (completionTokens: number) =>
    ({ type: 'generation-end', finishReason: 'stop', usage: { ...usage, completionTokens } }) as const
  const parts = [
    chunks.render([{ type: 'text-delta', text: 'b' }], 1),
    chunks.render([{ type: 'text-delta', text: 'a' }], 0),
    chunks.render([end(1)], 1),
    chunks.render([{ type: 'text-delta', text: 'A' }], 0),
  ]
  expect(chunks.ended()).toBe(false)
  parts.push(chunks.render([end(9)], 0))
  expect(chunks.ended()).toBe(true)
  const lines = parts.join('').split('\n\n').slice(0, -1)
  expect(lines.at(-1)).toBe('data: [DONE]')
  const sent = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)))
  const choice = (index: number, delta: object, finish: string | null = null) => [
    { index, delta, finish_reason: finish },
  ]
  const begun = { role: 'assistant', content: '' }
  expect(sent.map(({ choices }) => choices)).toEqual([
    choice(1, begun),
    choice(1, { content: 'b' }),
    choice(0, begun),
    choice(0, { content: 'a' }),
    choice(1, {}, 'stop'),
    choice(0, { content: 'A' }),
    choice(0, {}, 'stop'),
    [],
  ])
  expect(sent.map((chunk) => chunk.usage?.completion_tokens)).toEqual([...Array(7), 9])
})

it('each answer has its own log probabilities', () => {
  const chunks = createChatChunks(
    createAnswer({
      id: '0197-x',
      model: 'org/demo',
      options: { includeUsage: false, logprobs: true, choices: 2 },
    }),
  )
  const token = (text: string) =>
    ({ type: 'token-logprobs', tokens: [{ token: text, logprob: -1, top: [] }] }) as const
  expect(chunks.render([token('a')], 0)).not.toContain('"token"')
  const [, second = ''] = chunks.render([token('b'), { type: 'text-delta', text: 'b' }], 1).split('\n\n')
  expect(JSON.parse(second.slice(6)).choices[0].logprobs.content).toMatchObject([{ token: 'b' }])
  const first = chunks.render([{ type: 'text-delta', text: 'a' }], 0)
  expect(JSON.parse(first.slice(6)).choices[0].logprobs.content).toMatchObject([{ token: 'a' }])
})
