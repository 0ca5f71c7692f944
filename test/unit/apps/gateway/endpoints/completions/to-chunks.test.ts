import { expect, it } from 'vitest'
import { createCompletionChunks } from '#apps/gateway/endpoints/completions/to-chunks.ts'
import { createAnswer } from '#test/support/answer.ts'

it('a legacy stream sends nothing before its first text, so that a failure during reasoning still gets an HTTP status', () => {
  const chunks = createCompletionChunks(
    createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: null } }),
  )
  expect(chunks.render([{ type: 'reasoning-delta', text: 'hm' }])).toBe('')
})

it('the chunks of several legacy answers alternate, and the stream ends with the last of them', () => {
  const chunks = createCompletionChunks(
    createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: 0, choices: 2 } }),
  )
  const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
  const end = { type: 'generation-end', finishReason: 'length', usage } as const
  const token = (text: string) =>
    ({ type: 'token-logprobs', tokens: [{ token: text, logprob: -1, top: [] }] }) as const
  const text = (of: string) => ({ type: 'text-delta', text: of }) as const
  const rendered =
    chunks.render([token('é'), text('é')], 1) +
    chunks.render([token('a'), text('a')]) +
    chunks.render([token('b'), text('b'), end], 1)
  expect(chunks.ended()).toBe(false)
  const lines = (rendered + chunks.render([end], 0)).split('\n\n').slice(0, -1)
  expect(chunks.ended()).toBe(true)
  expect(lines.at(-1)).toBe('data: [DONE]')
  const sent = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)).choices[0])
  expect(sent.map((choice) => [choice.index, choice.text, choice.finish_reason])).toEqual([
    [1, 'é', null],
    [0, 'a', null],
    [1, 'b', null],
    [1, '', 'length'],
    [0, '', 'length'],
  ])
  expect(sent.map((choice) => choice.logprobs?.text_offset)).toEqual([[0], [0], [1], undefined, undefined])
})
