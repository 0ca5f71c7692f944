import { expect, test } from 'vitest'
import { createRunningHolds } from '#apps/gateway/generation/holds/running-holds.ts'
import { generationCall } from '../../../../../support/generation-call.ts'

const LENGTHS = { likely: 400, usual: 100, ownUsual: 100, mean: 80, isOwn: true }
const OF_ACCOUNT = { of: 'account', heldNano: 1_000n, withinMs: 30_000 } as const

function setUp(expected = LENGTHS) {
  let clockMs = 0
  const holds = createRunningHolds({ expectedOutput: { expect: () => expected }, nowMs: () => clockMs })
  const { caller, ...call } = generationCall()
  const run = (tokens: number, keyId = caller.keyId) => {
    const running = { tokens, amountNano: 600n, usedNano: 250n }
    const leave = holds.enter({ call: { ...call, caller: { ...caller, keyId } }, used: () => running })
    return { running, leave }
  }
  return { ...holds, caller, run, pass: (ms: number) => void (clockMs += ms) }
}

test('all that is held may come back, except what running answers have used', () => {
  const { comingBack, caller, run } = setUp()
  expect(comingBack(caller, OF_ACCOUNT)).toBe(1_000n)
  const { leave } = run(10)
  expect(comingBack(caller, OF_ACCOUNT)).toBe(750n)
  expect(comingBack({ ...caller, accountId: 'another' }, OF_ACCOUNT)).toBe(1_000n)
  leave()
  expect(comingBack(caller, OF_ACCOUNT)).toBe(1_000n)
})

test('of a spend limit, only the holds of the key count', () => {
  const { comingBack, caller, run } = setUp()
  run(10, 'another')
  expect(comingBack(caller, { ...OF_ACCOUNT, of: 'key' })).toBe(1_000n)
  expect(comingBack({ ...caller, keyId: 'another' }, { ...OF_ACCOUNT, of: 'key' })).toBe(750n)
})

test('nothing is hoped of an answer that is longer than nearly all, or too slow to end in time', () => {
  const { comingBack, caller, run, pass } = setUp()
  const { running } = run(1)
  expect(comingBack(caller, OF_ACCOUNT)).toBe(750n)
  pass(1_000)
  running.tokens = 2
  // One token a second: the usual hundred would take a minute and a half.
  expect(comingBack(caller, OF_ACCOUNT)).toBe(400n)
  pass(1_000)
  running.tokens = 90
  expect(comingBack(caller, OF_ACCOUNT)).toBe(750n)
  pass(1_000)
  running.tokens = 200
  expect(comingBack(caller, OF_ACCOUNT)).toBe(750n)
  pass(100_000)
  running.tokens = 401
  expect(comingBack(caller, OF_ACCOUNT)).toBe(400n)
})

test('of answers whose usual length is not known, everything is hoped', () => {
  const { comingBack, caller, run } = setUp({ ...LENGTHS, isOwn: false })
  run(5_000)
  expect(comingBack(caller, OF_ACCOUNT)).toBe(750n)
})

test('several holds that are used up leave nothing, and never less', () => {
  const { comingBack, caller, run } = setUp()
  run(500)
  run(500)
  expect(comingBack(caller, OF_ACCOUNT)).toBe(0n)
})
