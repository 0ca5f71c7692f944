import { expect, test } from 'vitest'
import { createQueueClocks } from '#apps/billing/settlements/queue-clocks.ts'

const HOUR_MS = 3_600_000
/** The time of a server whose clock is right when this process's monotonic clock is 0. */
const START_MS = Date.parse('2030-01-01T00:00:00Z')

function setUp() {
  const clock = { ms: 1_000 }
  const clocks = createQueueClocks(() => clock.ms)
  /**
   * Reads a server's clock, which is ahead by `aheadMs`. The answer takes `tookMs`; half of it passes before the
   * reading.
   */
  const read = ({ model = 'chat', aheadMs = 0, tookMs = 2 }) => {
    const sentMs = clock.ms
    clock.ms += tookMs
    const timeMs = START_MS + aheadMs + sentMs + tookMs / 2
    return clocks.note(model, { timeMs, sentMs, answeredMs: clock.ms })
  }
  return { clock, clocks, read }
}

test('a clock that runs on does not jump, however slow the answers are and however long nobody reads it', () => {
  const { clock, read } = setUp()
  expect(read({})).toBeNull()
  for (const tookMs of [20_000, 2, 8_000, 60_000, 2]) {
    clock.ms += 900_000
    expect(read({ tookMs })).toBe(0)
  }
})

test('a jump in either direction is seen once, by its length', () => {
  const { clock, read } = setUp()
  read({})
  for (const aheadMs of [HOUR_MS, -60_000, 0]) {
    clock.ms += 1_000
    const by = read({ aheadMs })
    clock.ms += 1_000
    expect({ aheadMs, by, again: read({ aheadMs }) }).toEqual({ aheadMs, by: expect.any(Number), again: 0 })
    clock.ms += 1_000
    read({ aheadMs: 0 })
  }
  expect(read({ aheadMs: HOUR_MS })).toBe(HOUR_MS - 2)
  expect(read({ aheadMs: 0 })).toBe(2 - HOUR_MS)
})

test('what is within five seconds is none: no hold is so close to its end', () => {
  const { read } = setUp()
  read({})
  expect(read({ aheadMs: 4_900 })).toBe(0)
  expect(read({ aheadMs: 0 })).toBe(0)
})

test('the present goes back with the clock, and each server has its own', () => {
  const { clock, clocks, read } = setUp()
  expect(clocks.nowMs()).toBeNull()
  read({ aheadMs: HOUR_MS })
  read({ model: 'embed', aheadMs: -HOUR_MS })
  expect(clocks.nowMs()).toBe(START_MS + clock.ms + HOUR_MS - 1)
  expect(read({ model: 'embed', aheadMs: -HOUR_MS })).toBe(0)
  read({ aheadMs: 0 })
  expect(clocks.nowMs()).toBe(START_MS + clock.ms - 1)
})
