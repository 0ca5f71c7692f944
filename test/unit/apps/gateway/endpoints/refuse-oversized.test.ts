import { expect, test } from 'vitest'
import { refuseOversized } from '#apps/gateway/endpoints/refuse-oversized.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { modelSpec } from '../../../../support/model-spec.ts'

const model = modelSpec({ contextWindow: 10 })
const WINDOW_BYTES = 10 * 256

const chat = (...contents: string[]) => ({
  ...generationJob().request,
  messages: contents.map((content) => ({ role: 'user' as const, content })),
})
const embedding = (...inputs: string[]) => ({ kind: 'embedding' as const, inputs })

test('a prompt that may fit the context window is accepted', () => {
  expect(() => refuseOversized(chat('x'.repeat(WINDOW_BYTES / 2)), model)).not.toThrow()
  expect(() => refuseOversized(chat(...Array<string>(10).fill('x')), model)).not.toThrow()
})

test('a prompt with more bytes or messages than can fit the context window with any tokenizer is refused', () => {
  const refusal = 'The prompt exceeds the context window of 10 tokens.'
  expect(() => refuseOversized(chat('x'.repeat(WINDOW_BYTES + 1)), model)).toThrow(refusal)
  expect(() => refuseOversized(chat(...Array<string>(11).fill('x')), model)).toThrow(refusal)
})

test('the context window applies to each embedding input separately, and the error names the one that cannot fit', () => {
  const large = 'x'.repeat(WINDOW_BYTES - 100)
  refuseOversized(embedding(large, large, large), model)
  refuseOversized(embedding(...Array<string>(2_048).fill('x')), model)
  expect(() => refuseOversized(embedding('x', `${large}${large}`), model)).toThrow(
    'The input at index 1 exceeds the context window of 10 tokens.',
  )
})
