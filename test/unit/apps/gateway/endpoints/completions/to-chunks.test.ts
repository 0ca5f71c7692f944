import { expect, it } from 'vitest'
import { createCompletionChunks } from '#apps/gateway/endpoints/completions/to-chunks.ts'
import { createAnswer } from '#test/support/answer.ts'

it('a legacy stream sends nothing before its first text, so that a failure during reasoning still gets an HTTP status', () => {
  const chunks = createCompletionChunks(
    createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: null } }),
  )
  expect(chunks.render([{ type: 'reasoning-delta', text: 'hm' }])).toBe('')
})
