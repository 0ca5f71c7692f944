import { expect, test } from 'vitest'
import { runs } from '#test/support/long.ts'
import { simulateBudget, type BudgetOutcome } from '../../../../bench/scaling/budget.ts'

const SEEDS = Array.from({ length: runs(2, 8) }, (_, index) => index + 1)

/** The time beyond the drain of the returned pods: to confirm the shortage, and until the HPA checks again. */
const MOST_BEYOND_DRAIN_S = 30

const outcomes: readonly BudgetOutcome[] = SEEDS.map(simulateBudget)

test('three models on 16 GPUs never have more than 16, not for a second, with those being deleted', () => {
  expect(outcomes.map(({ overS }) => overS)).toEqual(SEEDS.map(() => 0))
})

test('every model has its minimum throughout', () => {
  expect(outcomes.map(({ underMinS }) => underMinS)).toEqual(SEEDS.map(() => 0))
})

test('GPUs move between the models, and no pod is removed while it is busy', () => {
  expect(Math.min(...outcomes.map(({ removed }) => removed))).toBeGreaterThan(10)
  expect(outcomes.map(({ removedBusy }) => removedBusy)).toEqual(SEEDS.map(() => 0))
})

test('the highest priority waits at most for the longest drain and 30 s', () => {
  const shortages = outcomes.flatMap((outcome) => outcome.shortages)
  expect(shortages.length).toBeGreaterThan(2.5 * SEEDS.length)
  const tooLong = shortages.filter(({ unmetS, drainS }) => unmetS - drainS > MOST_BEYOND_DRAIN_S)
  expect(tooLong).toEqual([])
})
