import { expect, test } from 'vitest'
import { createInputEstimate } from '#apps/gateway/generation/estimates/estimate-input.ts'
import { createExpectCost, toListedCost } from '#apps/gateway/generation/estimates/expected-cost.ts'
import { createExpectedOutput } from '#apps/gateway/generation/estimates/expected-output.ts'
import type { GenerationCall } from '#apps/gateway/generation/request/generation-call.ts'
import { generationCall } from '../../../../../support/generation-call.ts'
import { generationJob } from '../../../../../support/generation-job.ts'

const SIZE = { ...generationCall().size, promptBytes: 100, grammarTokens: 0 }

function setUp() {
  const expectedOutput = createExpectedOutput()
  const expectCost = createExpectCost({ inputEstimate: createInputEstimate(), expectedOutput })
  return {
    learn: (tokens: number, isCut = false) =>
      expectedOutput.learn('demo-chat', 'account-1', { tokens, isCut }),
    cost: (fields: Partial<GenerationCall> = {}) => expectCost(generationCall({ size: SIZE, ...fields })),
  }
}

test('before anything is known it is the estimated prompt and 256 tokens', () => {
  expect(setUp().cost()).toEqual({ cost: 60 + 256, fixedCost: 0 })
})

test('it follows the mean output of the account, also where a limit cuts it', () => {
  const { learn, cost } = setUp()
  for (let turn = 0; turn < 20; turn += 1) learn(turn % 2 === 0 ? 100 : 500, turn % 2 === 0)
  expect(cost().cost).toBe(60 + 300)
})

test('no more output is expected than the caller or the model allows', () => {
  const { cost } = setUp()
  expect(cost({ maxOutputTokens: 16 }).cost).toBe(60 + 16)
  const { model } = generationCall()
  expect(cost({ model: { ...model, maxOutputTokens: 8 } }).cost).toBe(60 + 8)
})

test('all choices share the prompt, and each costs its output', () => {
  expect(setUp().cost({ choices: 4, maxOutputTokens: 16 }).cost).toBe(60 + 4 * 16)
})

test('an embedding costs its inputs', () => {
  expect(setUp().cost({ maxOutputTokens: 0 }).cost).toBe(60)
})

test('a prompt costs no more than the context window, which a longer one exceeds', () => {
  const { cost } = setUp()
  const { contextWindow } = generationCall().model
  expect(cost({ size: { ...SIZE, promptBytes: 1_000_000 } }).cost).toBe(contextWindow + 256)
})

test('the time that the engine takes to compile its grammars is its fixed part', () => {
  const { cost } = setUp()
  const { request } = generationJob()
  const schema = { type: 'object', description: 'x'.repeat(4_000) }
  const { size } = generationCall({ request: { ...request, outputFormat: { type: 'json-schema', schema } } })
  const { fixedCost, cost: all } = cost({ size })
  expect(fixedCost).toBeGreaterThanOrEqual(1_000)
  expect(all - fixedCost).toBe(cost({ size: { ...size, grammarTokens: 0 } }).cost)
})

test('log probabilities cost a quarter of a token for each listed token, of an echoed prompt too', () => {
  const { cost } = setUp()
  const { request } = generationCall()
  if (request.kind !== 'chat') throw new Error('not a chat')
  expect(cost({ request: { ...request, topLogprobs: 20 } }).cost).toBe(60 + 256 * 6)
  const used = { promptTokens: 100, completionTokens: 10 }
  expect(toListedCost(request, used)).toBeUndefined()
  expect(toListedCost({ ...request, topLogprobs: 0 }, used)).toBe(0)
  expect(toListedCost({ ...request, topLogprobs: 5 }, used)).toBe(13)
  expect(toListedCost({ ...request, topLogprobs: 20, rawPrompt: { addsSpecialTokens: true } }, used)).toBe(
    550,
  )
})
