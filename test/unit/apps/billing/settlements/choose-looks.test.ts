import { expect, test } from 'vitest'
import { createLooks } from '#apps/billing/settlements/choose-looks.ts'

const IDLE = { timeMs: 100_000, lastEntryMs: 0, isSettled: true }

function setUp() {
  const clock = { nowMs: 0 }
  return { clock, looks: createLooks({ idleEveryMs: 15_000, monotonicMs: () => clock.nowMs }) }
}

test('an unknown stream is looked at in each round', () => {
  const { looks } = setUp()
  expect(looks.due(['a', 'b'])).toEqual(['a', 'b'])
  expect(looks.due(['a', 'b'])).toEqual(['a', 'b'])
})

test('an idle stream is looked at again after the pause', () => {
  const { looks, clock } = setUp()
  looks.note('a', IDLE)
  clock.nowMs = 14_999
  expect(looks.due(['a'])).toEqual([])
  clock.nowMs = 15_000
  expect(looks.due(['a'])).toEqual(['a'])
})

test.each([
  ['its newest entry is young', { ...IDLE, lastEntryMs: 90_000 }],
  ['an entry is not committed', { ...IDLE, isSettled: false }],
  ['it does not exist yet', { ...IDLE, lastEntryMs: null }],
])('a stream is lively where %s', (_, look) => {
  const { looks } = setUp()
  looks.note('a', look)
  expect(looks.due(['a'])).toEqual(['a'])
  expect(looks.isLively('a')).toBe(true)
})

test('an entry that was read while a look was under way is not forgotten', () => {
  const { looks } = setUp()
  looks.note('a', IDLE)
  looks.touch('a')
  looks.note('a', IDLE)
  expect(looks.due(['a'])).toEqual(['a'])
  looks.note('a', IDLE)
  expect(looks.due(['a'])).toEqual([])
})

test('of a thousand idle streams each round looks at a few, those that wait longest first', () => {
  const { looks, clock } = setUp()
  const models = Array.from({ length: 1_000 }, (_, index) => `m${index}`)
  for (const model of models) looks.note(model, IDLE)
  clock.nowMs = 15_000
  const seen = new Set<string>()
  let rounds = 0
  while (seen.size < 1_000) {
    const due = looks.due(models)
    expect(due.length).toBeLessThanOrEqual(64)
    for (const model of due) {
      looks.note(model, IDLE)
      seen.add(model)
    }
    clock.nowMs += 1
    rounds += 1
  }
  expect(rounds).toBe(16)
})

test('after a failure everything is unknown again', () => {
  const { looks } = setUp()
  looks.note('a', IDLE)
  looks.forget()
  expect(looks.due(['a'])).toEqual(['a'])
})
