import { expect, test } from 'vitest'
import { createModelStates } from '#apps/gateway/demand/model-states.ts'
import type { ModelScale } from '#libs/event-bus/scaling-signals.ts'

function setUp() {
  const clock = { nowMs: 0 }
  const states = createModelStates(() => clock.nowMs)
  const apply = (term: number, ...models: ModelScale[]) => states.apply({ term, models })
  return { states, clock, apply }
}

const model = (fields: Partial<ModelScale> = {}): ModelScale => ({
  model: 'a',
  state: 'warming',
  ready: 0,
  target: 1,
  etaMs: 20_000,
  ...fields,
})

test('nothing is known of a model before the first message, and of one that no scaler manages', () => {
  const { states, apply } = setUp()
  expect(states.find('a')).toBeNull()
  apply(1, model())
  expect(states.find('a')).toMatchObject({ state: 'warming', etaMs: 20_000 })
  expect(states.find('b')).toBeNull()
})

test('the predicted time runs on between two messages, and never below zero', () => {
  const { states, clock, apply } = setUp()
  apply(1, model({ etaMs: 3_000 }))
  clock.nowMs = 1_000
  expect(states.find('a')?.etaMs).toBe(2_000)
  clock.nowMs = 4_000
  expect(states.find('a')?.etaMs).toBe(0)
})

test('a message replaces the one before, and what it leaves out is not known any more', () => {
  const { states, apply } = setUp()
  apply(1, model())
  apply(1, model({ state: 'serving', etaMs: null }))
  expect(states.find('a')).toMatchObject({ state: 'serving', etaMs: null })
  apply(1)
  expect(states.find('a')).toBeNull()
})

test('5 s after the last message nothing is known', () => {
  const { states, clock, apply } = setUp()
  apply(1, model())
  clock.nowMs = 4_999
  expect(states.find('a')).not.toBeNull()
  clock.nowMs = 5_000
  expect(states.find('a')).toBeNull()
})

test('the highest term wins, as long as its scaler is received', () => {
  const { states, clock, apply } = setUp()
  apply(2, model({ state: 'serving' }))
  apply(1, model({ state: 'off' }))
  expect(states.find('a')?.state).toBe('serving')
  apply(3, model({ state: 'starved' }))
  expect(states.find('a')?.state).toBe('starved')
  clock.nowMs = 5_000
  apply(1, model({ state: 'off' }))
  expect(states.find('a')?.state).toBe('off')
})

test('a start is foreseen only where a worker is warming with a known time within the limit', () => {
  const { states, clock, apply } = setUp()
  expect(states.startsWithin('a', Infinity)).toBe(false)
  apply(1, model({ etaMs: 3_000 }))
  expect(states.startsWithin('a', 2_999)).toBe(false)
  expect(states.startsWithin('a', 3_000)).toBe(true)
  clock.nowMs = 1
  expect(states.startsWithin('a', 2_999)).toBe(true)
  apply(1, model({ etaMs: null }))
  expect(states.startsWithin('a', Infinity)).toBe(false)
  for (const state of ['stopped', 'starved', 'off', 'serving'] as const) {
    apply(1, model({ state }))
    expect(states.startsWithin('a', Infinity)).toBe(false)
  }
})
