import { expect, it } from 'vitest'
import { createCompletionChunks } from '#apps/gateway/endpoints/completions/to-chunks.ts'
import { createAnswer } from '#test/support/answer.ts'

it('a legacy stream has no byte before its text, so that an answer that only reasons can still get its status', () => {
  const chunks = createCompletionChunks(createAnswer({ id: '0197-x', model: 'org/demo', options: null }))
  expect(chunks.render([{ type: 'reasoning-delta', text: 'hm' }])).toBe('')
})
