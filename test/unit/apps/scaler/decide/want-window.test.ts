import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mostWanted, noteWant } from '#apps/scaler/decide/want-window.ts'

const WINDOW_MS = 300_000
const EMPTY = { window: [], windowSinceMs: 0 }

function note(steps: readonly (readonly [number, number])[]) {
  return steps.reduce<ReturnType<typeof noteWant>>(
    (state, [nowMs, want]) => noteWant(state, { want, windowMs: WINDOW_MS, nowMs }),
    EMPTY,
  )
}

test('the most of the window counts until it is older than the window', () => {
  const steps = Array.from({ length: 61 }, (_, index) => [index * 10_000, index === 0 ? 9 : 2] as const)
  expect(mostWanted(note(steps.slice(0, 31)), WINDOW_MS, 300_000)).toBe(9)
  expect(mostWanted(note(steps.slice(0, 32)), WINDOW_MS, 310_000)).toBe(2)
})

test('the window is unknown until it is whole, and again after a gap of more than 30 s', () => {
  const state = noteWant({ window: [], windowSinceMs: 1000 }, { want: 2, windowMs: WINDOW_MS, nowMs: 1000 })
  expect(mostWanted(state, WINDOW_MS, 300_999)).toBeNull()
  const whole = note([
    [0, 5],
    [400_000, 1],
  ])
  expect(mostWanted(whole, WINDOW_MS, 400_000)).toBeNull()
  expect(
    mostWanted(
      note([
        [0, 5],
        [30_000, 1],
      ]),
      WINDOW_MS,
      300_000,
    ),
  ).toBe(5)
})

test('it never says less than the true maximum, keeps at most 16 entries, and forgets', () => {
  const histories = fc.array(fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.nat(100)), { maxLength: 200 })
  fc.assert(
    fc.property(histories, (gaps) => {
      let nowMs = 0
      const steps = gaps.map(([gapMs, want]) => [(nowMs += gapMs), want] as const)
      const state = note(steps)
      const recent = steps.filter(([ms]) => nowMs - ms <= WINDOW_MS).map(([, want]) => want)
      expect(state.window.length).toBeLessThanOrEqual(16)
      expect(state.window[0]?.[1] ?? 0).toBeGreaterThanOrEqual(Math.max(0, ...recent))
      expect(state.window.every(([ms]) => nowMs - ms <= WINDOW_MS)).toBe(true)
    }),
  )
})
