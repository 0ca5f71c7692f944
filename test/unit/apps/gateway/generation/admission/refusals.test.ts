import { expect, test } from 'vitest'
import { createRefusals } from '#apps/gateway/generation/admission/refusals.ts'

function setUp() {
  const clock = { nowMs: 0 }
  const refusals = createRefusals({ drainBoundMs: 30_000, nowMs: () => clock.nowMs })
  return { clock, ...refusals, find: (account: string) => refusals.leftMs(account, FULL) }
}

const FULL = { slots: 8, running: 8, meanGenerationMs: 4_000, slotTokensPerS: 250, contextWindow: 4_096 }
const IDLE = { ...FULL, running: 1 }

/** The engines take 2 tokens in a ms, and claim a generation each 500 ms. */
const excess = (tooMuch: number) => ({
  ahead: 60_000 + tooMuch,
  mostAhead: 60_000,
  perMs: 2,
  claimMs: 500,
  slots: 8,
})
/** The time that the engines need for the tokens that are too many, half of the time between two claims, the margin. */
const waitMs = (tooMuch: number, marginMs: number) => tooMuch / 2 + 250 + marginMs
const FIRST_MARGIN_MS = 4_000

test('a refused account is refused until its wait is over, with the rest of the wait; others are not', () => {
  const { clock, find, refuse } = setUp()
  expect(refuse('a', excess(4_000))).toBe(waitMs(4_000, FIRST_MARGIN_MS))
  expect(find('a')).toBe(6_250)
  expect(find('b')).toBe(0)
  clock.nowMs = 6_249
  expect(find('a')).toBe(1)
  clock.nowMs = 6_250
  expect(find('a')).toBe(0)
})

test('a refusal that arrives during the wait does not change it', () => {
  const { clock, refuse } = setUp()
  refuse('a', excess(4_000))
  clock.nowMs = 1_000
  expect(refuse('a', excess(9_000))).toBe(5_250)
})

test('after the wait the bound of the refusal holds for one admitted request, for eight seconds', () => {
  const { clock, refuse, promisedAhead, admitted } = setUp()
  refuse('a', excess(4_000))
  expect(promisedAhead('a')).toBe(0)
  clock.nowMs = 6_250
  expect(promisedAhead('a')).toBe(60_000)
  expect(promisedAhead('b')).toBe(0)
  clock.nowMs = 14_250
  expect(promisedAhead('a')).toBe(60_000)
  clock.nowMs = 14_251
  expect(promisedAhead('a')).toBe(0)
  clock.nowMs = 14_250
  admitted('a')
  expect(promisedAhead('a')).toBe(0)
})

test('a broken promise makes the next waits longer, and kept ones make them slowly shorter', () => {
  const { clock, refuse, admitted } = setUp()
  const next = () => {
    const wait = refuse('a', excess(0))
    clock.nowMs += wait
    return wait
  }
  expect(next()).toBe(waitMs(0, FIRST_MARGIN_MS))
  expect(next()).toBe(waitMs(0, 6_000))
  admitted('a')
  expect(next()).toBeCloseTo(waitMs(0, 6_000 * 0.99))
  // A second request that is admitted has no promise.
  admitted('a')
  admitted('a')
  expect(next()).toBeCloseTo(waitMs(0, 6_000 * 0.99 ** 2))
})

test('a wait that is ended early is shorter the next time; the promise stays', () => {
  const { clock, leftMs, refuse, promisedAhead } = setUp()
  refuse('a', excess(0))
  clock.nowMs = 100
  expect(leftMs('a', IDLE)).toBe(0)
  expect(promisedAhead('a')).toBe(60_000)
  expect(leftMs('a', IDLE)).toBe(0)
  clock.nowMs = 60_000
  expect(refuse('a', excess(0))).toBe(waitMs(0, 0.8 * FIRST_MARGIN_MS))
})

test('a request that was on its way when the account was refused does not end the promise', () => {
  const { clock, refuse, admitted, promisedAhead } = setUp()
  clock.nowMs = refuse('a', excess(0)) - 1
  admitted('a')
  clock.nowMs += 1
  expect(promisedAhead('a')).toBe(60_000)
})

test('a promise for which no request comes is neither kept nor broken', () => {
  const { clock, refuse, admitted } = setUp()
  refuse('a', excess(0))
  clock.nowMs = 60_000
  expect(refuse('a', excess(0))).toBe(waitMs(0, FIRST_MARGIN_MS))
  clock.nowMs = 120_000
  admitted('a')
  expect(refuse('a', excess(0))).toBe(waitMs(0, FIRST_MARGIN_MS))
})

test('the margin is at least the time between two claims and at most the drain bound, and no wait is longer than 59 s', () => {
  const { clock, refuse, admitted } = setUp()
  const next = (tooMuch = 0) => {
    const wait = refuse('a', excess(tooMuch))
    clock.nowMs += wait
    return wait
  }
  for (let broken = 0; broken < 20; broken += 1) next()
  expect(next()).toBe(waitMs(0, 30_000))
  expect(next(1_000_000)).toBe(59_000)
  for (let kept = 0; kept < 800; kept += 1) {
    admitted('a')
    next()
  }
  admitted('a')
  expect(next()).toBe(waitMs(0, 500))
})

test('a refusal for a fixed time promises nothing and teaches nothing', () => {
  const { clock, refuse, refuseFor, promisedAhead, find } = setUp()
  expect(refuseFor('a', 2_000)).toBe(2_000)
  clock.nowMs = 500
  expect(find('a')).toBe(1_500)
  expect(refuseFor('a', 2_000)).toBe(1_500)
  clock.nowMs = 2_000
  expect(find('a')).toBe(0)
  expect(promisedAhead('a')).toBe(0)
  expect(refuse('a', excess(0))).toBe(waitMs(0, FIRST_MARGIN_MS))
})
