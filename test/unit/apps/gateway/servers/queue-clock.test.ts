import { expect, onTestFinished, test, vi } from 'vitest'
import { createQueueClock } from '#apps/gateway/servers/queue-clock.ts'

const HOUR_MS = 3_600_000
const REDIS_MS = Date.parse('2030-01-01T00:00:00Z')

test('it shows the time of the server, carried on by the monotonic clock whatever the wall clock does', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const clock = await createQueueClock(async () => REDIS_MS)
  vi.setSystemTime(Date.now() - HOUR_MS)
  expect(clock.nowMs()).toBe(REDIS_MS)
  vi.advanceTimersByTime(5_000)
  expect(clock.nowMs()).toBe(REDIS_MS + 5_000)
  expect(clock.toQueueMs(performance.now() + 600_000)).toBe(REDIS_MS + 605_000)
})

test.each([-HOUR_MS, HOUR_MS])(
  'after a jump of the server by %d ms times are sent as it has them now',
  async (byMs) => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    let redisMs = REDIS_MS
    const clock = await createQueueClock(async () => redisMs)
    const deadlineMs = performance.now() + 600_000
    redisMs += byMs
    await clock.sync()
    expect(clock.toQueueMs(deadlineMs)).toBe(REDIS_MS + byMs + 600_000)
  },
)
