import { expect, test } from 'vitest'
import { createInputEstimate } from '#apps/gateway/generation/estimates/estimate-input.ts'
import { sizeOf } from '#libs/contracts/request-size.ts'
import { generationJob } from '../../../../../support/generation-job.ts'

const base = generationJob().request
const ask = (content: string, more: Partial<typeof base> = {}) =>
  sizeOf({ ...base, messages: [{ role: 'user', content }], ...more })
const embed = (...inputs: string[]) => sizeOf({ kind: 'embedding', inputs })

test('an estimate grows with messages, characters of several bytes, and tool definitions', () => {
  const { estimate } = createInputEstimate()
  const plain = estimate('m', ask('hello'))
  expect(estimate('m', ask('hello hello'))).toBeGreaterThan(plain)
  expect(estimate('m', ask('水水水水水'))).toBeGreaterThan(plain)
  const tools = [{ name: 'f', description: null, parameters: null }]
  expect(estimate('m', ask('hello', { tools }))).toBeGreaterThan(plain)
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
  const one = embed('hello')
  const many = embed('hello', 'hello', '水水')
  expect(estimate('m', many)).toBeGreaterThan(2 * estimate('m', one) - 1)
  for (let turn = 0; turn < 16; turn += 1) learn('m', many, 300)
  expect(estimate('m', many)).toBe(300)
})

test('the first counts lower the estimate to the highest of them and a margin, and never raise it', () => {
  const { estimate, learn } = createInputEstimate()
  const request = ask('x'.repeat(976))
  const before = estimate('m', request)
  const counted = [100, 100, 100, 100].map((tokens) => {
    learn('m', request, tokens)
    return estimate('m', request)
  })
  expect(counted).toEqual([200, 151, 134, 125])
  learn('m', request, 100_000)
  expect(estimate('m', request)).toBe(before)
})
