import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createKeepQueued } from '#apps/gateway/generation/keep-queued.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

test('an unclaimed generation is enqueued again, at growing pauses, until it is stopped', async () => {
  let enqueued = 0
  const stop = createKeepQueued(() => {})(async () => {
    enqueued += 1
  })
  const after: number[] = []
  for (const s of [2, 1, 6, 12, 24, 48, 48]) {
    await vi.advanceTimersByTimeAsync(s * 1_000)
    after.push(enqueued)
  }
  expect(after).toEqual([0, 1, 2, 3, 4, 5, 6])
  stop()
  await vi.advanceTimersByTimeAsync(600_000)
  expect(enqueued).toBe(6)
})

test('a failure is reported, and enqueueing is tried again', async () => {
  const failures: unknown[] = []
  const stop = createKeepQueued((error) => failures.push(error))(async () => {
    throw new Error('Command timed out')
  })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(failures).toHaveLength(2)
  stop()
})

test('a stop during an enqueueing is the end', async () => {
  const queueing = Promise.withResolvers<void>()
  let enqueued = 0
  const stop = createKeepQueued(() => {})(async () => {
    enqueued += 1
    await queueing.promise
  })
  await vi.advanceTimersByTimeAsync(3_000)
  stop()
  queueing.resolve()
  await vi.advanceTimersByTimeAsync(600_000)
  expect(enqueued).toBe(1)
})
