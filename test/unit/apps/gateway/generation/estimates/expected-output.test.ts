import { expect, test } from 'vitest'
import { createExpectedOutput } from '#apps/gateway/generation/estimates/expected-output.ts'

const whole = (tokens: number) => ({ tokens, isCut: false })

function learned(lengths: readonly number[], { model = 'a', account = 'x' } = {}) {
  const output = createExpectedOutput()
  for (const tokens of lengths) output.learn(model, account, whole(tokens))
  return output
}

test('before anything is known, 1,024 tokens are likely, 128 usual and 256 the mean', () => {
  expect(createExpectedOutput().expect('a', 'x')).toEqual({
    likely: 1_024,
    usual: 128,
    ownUsual: 0,
    isOwn: false,
    mean: 256,
  })
})

test('three of four answers are at most as long as the usual one', () => {
  const output = learned(Array.from({ length: 21 }, (_, at) => at))
  expect([output.expect('a', 'x').usual, output.expect('a', 'new').usual]).toEqual([15, 15])
})

test('after forty answers the 95th percentile and a tenth more are expected, at least 256', () => {
  expect(learned(Array.from({ length: 40 }, () => 300)).expect('a', 'x').likely).toBe(330)
  const hundreds = Array.from({ length: 40 }, (_, at) => 100 * (at + 1))
  expect(learned(hundreds).expect('a', 'x').likely).toBe(4_180)
  expect(learned(Array.from({ length: 20 }, () => 10)).expect('a', 'x').likely).toBe(256)
})

test('only the latest 64 answers count', () => {
  const lengths = [...Array.from({ length: 100 }, () => 5_000), ...Array.from({ length: 64 }, () => 400)]
  expect(learned(lengths).expect('a', 'x').likely).toBe(440)
})

test('a new account has what others have, and each of its own answers counts more', () => {
  const output = learned(Array.from({ length: 20 }, () => 4_000))
  const likely = () => output.expect('a', 'new').likely
  expect(output.expect('a', 'new')).toMatchObject({ likely: 4_800, usual: 4_000, ownUsual: 0, isOwn: false })
  output.learn('a', 'new', whole(300))
  expect(output.expect('a', 'new')).toMatchObject({ likely: 4_762, usual: 4_000, ownUsual: 300 })
  output.learn('a', 'new', whole(300))
  expect([likely(), output.expect('a', 'new').usual]).toEqual([2_364, 2_000])
  for (let turn = 0; turn < 17; turn += 1) output.learn('a', 'new', whole(300))
  expect([likely(), output.expect('a', 'new').isOwn]).toEqual([364, false])
  output.learn('a', 'new', whole(300))
  expect(output.expect('a', 'new')).toMatchObject({ likely: 360, usual: 300, ownUsual: 300, isOwn: true })
  output.learn('a', 'other', whole(9_000))
  expect(output.expect('a', 'other').likely).toBe(18_000)
  expect(output.expect('b', 'x').likely).toBe(1_024)
})

test('a new model learns from its first answers, with a margin that shrinks as they become more', () => {
  const output = createExpectedOutput()
  const likely = [300, 300, 300, 300, 300].map((tokens, at) => {
    output.learn('a', `account-${at}`, whole(tokens))
    return output.expect('a', 'new').likely
  })
  expect(likely).toEqual([1_024, 600, 600, 600, 540])
  expect(output.expect('a', 'new').usual).toBe(300)
})

test('an answer that a limit has cut says only that answers may be longer', () => {
  const output = learned(Array.from({ length: 40 }, () => 400))
  for (let turn = 0; turn < 64; turn += 1) output.learn('a', 'x', { tokens: 8, isCut: true })
  expect(output.expect('a', 'x').likely).toBe(440)
  output.learn('a', 'x', { tokens: 900, isCut: true })
  output.learn('a', 'x', { tokens: 900, isCut: true })
  output.learn('a', 'x', { tokens: 900, isCut: true })
  expect(output.expect('a', 'x').likely).toBe(990)
})

test('the mean is that of the latest 64 answers or so, of the account once twenty are known', () => {
  const output = learned(Array.from({ length: 20 }, (_, at) => 100 * (at + 1)))
  expect([output.expect('a', 'x').mean, output.expect('a', 'new').mean]).toEqual([1_050, 1_050])
  for (let turn = 0; turn < 20; turn += 1) output.learn('a', 'new', { tokens: 8, isCut: true })
  expect(output.expect('a', 'new').mean).toBe(8)
  for (let turn = 0; turn < 500; turn += 1) output.learn('a', 'x', whole(10))
  expect(output.expect('a', 'x').mean).toBeCloseTo(10, 0)
})
