import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { StartWait } from '#apps/gateway/generation/admission/start-waits.ts'
import type { ModelState } from '#libs/contracts/model-state.ts'
import { CLAIMED, NEXT, setUp, WAITING } from './dispatch-under-test.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A wait for a model's start, of 10 s if no other limit is given. */
function startWait(limitMs = 10_000) {
  const begunMs = Date.now()
  const ends: string[] = []
  const now: { state: ModelState } = { state: 'warming' }
  const wait: StartWait = {
    limitS: 10,
    leftMs: () => begunMs + limitMs - Date.now(),
    expectedMs: () => 2_000,
    state: () => now.state,
    begin: () => {},
    end: (how) => void ends.push(how),
  }
  return { wait, now, ends }
}
const STARTING = { served: false, startsAtMs: 50_000 }

test('what waits for its model’s start is looked at when its time is over, and then lost', async () => {
  const { wait, ends } = startWait()
  const { dispatched, log, after } = setUp([WAITING], { ...STARTING, startWait: wait })
  await dispatched.begin()
  await after(9_999)
  expect(log.join()).not.toContain('lose')
  await after(1)
  expect(log.slice(-2)).toEqual(['enqueue 1', 'lose not-started'])
  expect(ends).toEqual(['late'])
  dispatched.close()
})

test('a claim that this look finds is waited for, without the limit', async () => {
  const { wait } = startWait()
  const answers = [WAITING, WAITING, WAITING, CLAIMED]
  const { dispatched, log, after } = setUp(answers, { ...STARTING, startWait: wait })
  await dispatched.begin()
  await after(40_000)
  expect(log).toContain('watch worker-1')
  expect(log.join()).not.toContain('lose')
  dispatched.close()
})

test('a start that fails ends the wait at the next look', async () => {
  const { wait, now, ends } = startWait()
  const { dispatched, log, after } = setUp([WAITING], { ...STARTING, startWait: wait })
  await dispatched.begin()
  now.state = 'starved'
  await after(3_000)
  expect(log.at(-1)).toBe('lose not-started')
  expect(ends).toEqual(['failed'])
  dispatched.close()
})

test('once a worker has had it, the limit of the start is over', async () => {
  for (const had of ['claimed', 'declined'] as const) {
    const { wait } = startWait()
    const { dispatched, log, after } = setUp([WAITING], { ...STARTING, startWait: wait })
    await dispatched.begin()
    if (had === 'claimed') dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
    await dispatched.again(NEXT)
    await after(30_000)
    expect([had, log.join()].join()).not.toContain('lose')
    dispatched.close()
  }
})

test('a start that is predicted for after the deadline is waited for, but not one of which no scaler reports', async () => {
  const { wait } = startWait(40_000)
  const { dispatched, log, after } = setUp([WAITING], { served: false, startsAtMs: 70_000, startWait: wait })
  await dispatched.begin()
  await after(30_000)
  expect(log.join()).not.toContain('lose')
  dispatched.close()

  const silent = startWait(40_000)
  silent.now.state = 'unserved'
  const other = setUp([WAITING], { served: false, startWait: silent.wait })
  await other.dispatched.begin()
  await other.after(9_000)
  expect(other.log.at(-1)).toBe('lose no-worker')
  other.dispatched.close()
})
