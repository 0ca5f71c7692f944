import { expect, test } from 'vitest'
import { createInputEstimate } from '#apps/gateway/generation/estimate-input.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const base = generationJob().request
const ask = (content: string) => ({ ...base, messages: [{ role: 'user' as const, content }] })

test('an estimate grows with messages, characters of several bytes, and tool definitions', () => {
  const { estimate } = createInputEstimate()
  const plain = estimate('m', ask('hello'))
  expect(estimate('m', ask('hello hello'))).toBeGreaterThan(plain)
  expect(estimate('m', ask('水水水水水'))).toBeGreaterThan(plain)
  expect(
    estimate('m', { ...ask('hello'), tools: [{ name: 'f', description: null, parameters: null }] }),
  ).toBeGreaterThan(plain)
})

test('what workers count moves the estimate to a high quantile, for that model alone', () => {
  const { estimate, learn } = createInputEstimate()
  const request = ask('x'.repeat(976))
  const before = estimate('learned', request)
  for (let turn = 0; turn < 256; turn += 1) learn('learned', request, turn < 230 ? 100 : 400)
  expect(estimate('learned', request)).toBe(400)
  expect(estimate('other', request)).toBe(before)
})

test('inputs to embed are estimated together, and learned as prompts are', () => {
  const { estimate, learn } = createInputEstimate()
  const one = { kind: 'embedding' as const, inputs: ['hello'] }
  const many = { kind: 'embedding' as const, inputs: ['hello', 'hello', '水水'] }
  expect(estimate('m', many)).toBeGreaterThan(2 * estimate('m', one) - 1)
  for (let turn = 0; turn < 16; turn += 1) learn('m', many, 300)
  expect(estimate('m', many)).toBe(300)
})
