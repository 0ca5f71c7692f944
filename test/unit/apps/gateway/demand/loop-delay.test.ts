import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createLateness, createLoopDelay } from '#apps/gateway/demand/loop-delay.ts'

/** Keeps the event loop busy, in steps. */
async function block(options: { steps: number; stepMs: number }) {
  for (let step = 0; step < options.steps; step += 1) {
    const untilMs = performance.now() + options.stepMs
    while (performance.now() < untilMs);
    await setImmediate()
  }
}

test('an event loop that is blocked for 100 ms at a time has a delay of that order', async () => {
  const delay = createLoopDelay()
  await block({ steps: 5, stepMs: 100 })
  // The measured delay may be shorter by one period of the sampling timer, because a block may begin within a period.
  expect(delay.p99Ms()).toBeGreaterThan(50)
  delay.close()
})

test('the value is that of the last complete window: a stall of the present one does not show yet', async () => {
  const delay = createLoopDelay()
  await block({ steps: 5, stepMs: 100 })
  for (let second = 0; second < 5; second += 1) delay.tick()
  const first = delay.p99Ms()
  // The first sample of a window has no earlier sample, so its delay is unknown.
  await block({ steps: 3, stepMs: 300 })
  expect(delay.p99Ms()).toBe(first)
  for (let second = 0; second < 5; second += 1) delay.tick()
  expect(delay.p99Ms()).toBeGreaterThan(200)
  delay.close()
})

test('a loop is late when the mean of its delays is above 10 ms, from the second second of a window on', () => {
  const lateness = createLateness()
  lateness.note(40, 1)
  expect(lateness.isLate()).toBe(false)
  lateness.note(9, 2)
  expect(lateness.isLate()).toBe(false)
  lateness.note(11, 3)
  expect(lateness.isLate()).toBe(true)
})

test('a late loop is on time again after a whole window below 5 ms, so that merging does not end by its own effect', () => {
  const lateness = createLateness()
  lateness.note(11, 5)
  for (const [meanMs, ticks] of [
    [7, 5],
    [1, 4],
    [6, 5],
  ] as const) {
    lateness.note(meanMs, ticks)
    expect(lateness.isLate()).toBe(true)
  }
  lateness.note(4, 5)
  expect(lateness.isLate()).toBe(false)
})

test('a loop that is blocked for longer than 10 ms again and again is measured as late', async () => {
  const delay = createLoopDelay()
  delay.tick()
  expect(delay.isLate()).toBe(false)
  await block({ steps: 10, stepMs: 100 })
  delay.tick()
  expect(delay.isLate()).toBe(true)
  delay.close()
})
