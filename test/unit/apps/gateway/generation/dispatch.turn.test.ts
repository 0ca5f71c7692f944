import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { NEXT, setUp, WAITING } from './dispatch-under-test.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a choice that waits for its turn is lifted when the turn comes', async () => {
  const { dispatched, log } = setUp([WAITING])
  const { promise: turn, resolve } = Promise.withResolvers<void>()
  await dispatched.begin()
  const again = dispatched.again({ ...NEXT, turn })
  await vi.advanceTimersByTimeAsync(1_000)
  expect(log).not.toContain('lift 2')
  resolve()
  await again
  expect(log).toContain('lift 2')
  dispatched.close()
})

test('a choice whose caller leaves before its turn is not lifted', async () => {
  const { dispatched, log, leave } = setUp([WAITING])
  await dispatched.begin()
  const again = dispatched.again({ ...NEXT, turn: new Promise(() => {}) })
  leave()
  await again
  expect(log).not.toContain('lift 2')
  dispatched.close()
})
