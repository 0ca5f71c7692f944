import { expect, test } from 'vitest'
import { createGatherTime } from '#apps/gateway/servers/gather-time.ts'

/** Creates a fake event loop. `run` adds time in which it was busy, and time in which it was idle. */
function openLoop() {
  let [active, idle] = [0, 0]
  return {
    run(activeMs: number, idleMs: number) {
      active += activeMs
      idle += idleMs
    },
    readUse(since = { active: 0, idle: 0, utilization: 0 }) {
      const span = { active: active - since.active, idle: idle - since.idle }
      return { ...span, utilization: span.active / (span.active + span.idle || 1) }
    },
  }
}

test('calls are gathered once the loop was busy, and no more when it is idle again', () => {
  const loop = openLoop()
  const gatherMs = createGatherTime(loop.readUse)
  const seen = [gatherMs()]
  for (const [activeMs, idleMs] of [
    [170, 330],
    [200, 300],
    [110, 390],
    [90, 410],
    [170, 330],
  ] as const) {
    loop.run(activeMs, idleMs)
    seen.push(gatherMs())
  }
  expect(seen).toEqual([0, 0, 30, 30, 0, 0])
})

test('a busy moment in a longer time that was idle does not count', () => {
  const loop = openLoop()
  const gatherMs = createGatherTime(loop.readUse)
  loop.run(400, 0)
  expect(gatherMs()).toBe(0)
  loop.run(0, 9_600)
  expect(gatherMs()).toBe(0)
})

test('it reads the loop of this process', () => {
  const gatherMs = createGatherTime()
  const untilMs = performance.now() + 600
  while (performance.now() < untilMs);
  expect(gatherMs()).toBe(30)
})
