import { expect, test } from 'vitest'
import { refuseOversized } from '#apps/gateway/endpoints/refuse-oversized.ts'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import { sizeOf } from '#libs/contracts/request-size.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { modelSpec } from '../../../../support/model-spec.ts'

const model = modelSpec({ contextWindow: 10 })
const refuse = (request: GenerationRequest) => refuseOversized(request, sizeOf(request), model)
const WINDOW_BYTES = 10 * 256

const chat = (...contents: string[]) => ({
  ...generationJob().request,
  messages: contents.map((content) => ({ role: 'user' as const, content })),
})
const embedding = (...inputs: string[]) => ({ kind: 'embedding' as const, inputs })

test('a prompt that may fit the context window is accepted', () => {
  expect(() => refuse(chat('x'.repeat(WINDOW_BYTES / 2)))).not.toThrow()
  expect(() => refuse(chat(...Array<string>(10).fill('x')))).not.toThrow()
})

test('a prompt with more bytes or messages than can fit the context window with any tokenizer is refused', () => {
  const refusal = expect.objectContaining({
    code: 'context_length_exceeded',
    message: expect.stringMatching(
      /prompt is too long: at least 11 tokens > 10 maximum.*context length is 10 tokens.*at least 11/,
    ),
  })
  expect(() => refuse(chat('x'.repeat(WINDOW_BYTES + 1)))).toThrow(refusal)
  expect(() => refuse(chat(...Array<string>(11).fill('x')))).toThrow(refusal)
})

test('the context window applies to each embedding input separately, and the error names the one that cannot fit', () => {
  const large = 'x'.repeat(WINDOW_BYTES - 100)
  refuse(embedding(large, large, large))
  refuse(embedding(...Array<string>(2_048).fill('x')))
  expect(() => refuse(embedding('x', `${large}${large}`))).toThrow(
    expect.objectContaining({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/^The input at index 1 is too long/),
      param: 'input[1]',
    }),
  )
})
