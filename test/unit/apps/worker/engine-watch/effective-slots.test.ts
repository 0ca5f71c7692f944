import { expect, test } from 'vitest'
import { createEffectiveSlots } from '#apps/worker/engine-watch/effective-slots.ts'
import type { EngineLoad } from '#apps/worker/engine/engine-client.ts'

const load = (running: number, kvUsage: number | null): EngineLoad => ({
  running,
  waiting: 0,
  kvUsage,
  kvUsedTokens: null,
  kvCapacityTokens: null,
  version: null,
})

/** Lets a minute pass in which `running` generations use this share of the cache. */
function afterMinute(running: number, kvUsage: number) {
  const slots = createEffectiveSlots(64)
  for (let second = 0; second < 60; second += 1) slots.note(load(running, kvUsage), running)
  return slots
}

test('generations that fill the cache before the places leave fewer slots', () => {
  const slots = afterMinute(10, 0.5)
  expect(slots.note(load(10, 0.5), 10)).toBe(20)
  expect(slots.note(load(20, 1), 20)).toBeLessThanOrEqual(20)
  expect(slots.note(load(0, 0), 0)).toBe(20)
})

test('small generations leave the number of places, and never more', () => {
  expect(afterMinute(32, 0.1).note(load(32, 0.1), 32)).toBe(64)
})

test('a generation that is larger than the others takes the room of several', () => {
  // 40 generations of the mean size would fit. The large generation counts as a sample too, so the result is 20.
  expect(afterMinute(10, 0.25).note(load(1, 0.5), 1)).toBe(20)
})

test('one slot remains, however large the generations', () => {
  expect(afterMinute(1, 0.9).note(load(1, 0.95), 1)).toBe(1)
})

test('the number of places is the answer while the size of a generation is not known', () => {
  const slots = createEffectiveSlots(64)
  for (let second = 0; second < 29; second += 1) expect(slots.note(load(10, 0.5), 10)).toBe(64)
  expect(slots.note(load(10, 0.5), 10)).toBe(20)
})

test('zeros while something runs, no answer, and an answer without usage are not samples', () => {
  const slots = createEffectiveSlots(64)
  for (let second = 0; second < 100; second += 1) {
    for (const unknown of [load(0, 0), null, load(10, null)]) expect(slots.note(unknown, 10)).toBe(64)
  }
})

test('what an idle engine still reports of its last step is no sample', () => {
  const slots = createEffectiveSlots(64)
  for (let second = 0; second < 100; second += 1) expect(slots.note(load(10, 0.9), 0)).toBe(64)
})
