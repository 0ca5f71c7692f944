import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fitBudget, type BudgetPool } from '#apps/scaler/decide/fit-budget.ts'
import { NO_BUDGET_STATE, type BudgetState } from '#apps/scaler/decide/types.ts'

function toPool(pool: string, fields: Partial<BudgetPool> = {}): BudgetPool {
  return { pool, gpuClass: 'h100', gpus: 1, min: 0, want: 0, priority: 50, order: 1, held: 0, ...fields }
}

function fit(pools: readonly BudgetPool[], gpus: number, now: { state?: BudgetState; nowMs?: number } = {}) {
  const state = now.state ?? NO_BUDGET_STATE
  return fitBudget({ pools, budget: { h100: gpus }, state, nowMs: now.nowMs ?? 0 })
}

function given(pools: readonly BudgetPool[], gpus: number) {
  return Object.fromEntries(fit(pools, gpus).given)
}

/** Returns the replicas that the pools get when every delay has passed and the pods have not changed. */
function entitled(pools: readonly BudgetPool[], gpus: number): Map<string, number> {
  const { state } = fit(pools, gpus)
  return new Map(fit(pools, gpus, { state, nowMs: 100_000 }).given)
}

describe('who gets what', () => {
  test('minima first, then the higher priority, then the lower', () => {
    const pools = [
      toPool('low', { priority: 10, min: 1, want: 9 }),
      toPool('high', { priority: 90, min: 2, want: 6 }),
    ]
    expect(given(pools, 10)).toEqual({ high: 6, low: 4 })
    expect(given(pools, 5)).toEqual({ high: 4, low: 1 })
  })

  test('equals share by what each wants', () => {
    expect(given([toPool('a', { want: 9 }), toPool('b', { want: 3 })], 8)).toEqual({ a: 6, b: 2 })
  })

  test('a replica that does not fit leaves its GPUs to one that does', () => {
    const pools = [toPool('large', { gpus: 8, want: 2, priority: 90 }), toPool('small', { want: 9 })]
    expect(given(pools, 12)).toEqual({ large: 1, small: 4 })
  })

  test('without a class, or without a budget for it, a pool gets what it wants', () => {
    const pools = [
      toPool('free', { gpuClass: null, want: 40 }),
      toPool('other', { gpuClass: 'l40s', want: 30 }),
    ]
    expect(given(pools, 1)).toEqual({ free: 40, other: 30 })
  })

  test('minima beyond the budget are cut from the lowest priority, never the budget', () => {
    const pools = [toPool('a', { priority: 90, min: 3 }), toPool('b', { priority: 10, min: 3 })]
    expect(given(pools, 4)).toEqual({ a: 3, b: 1 })
  })
})

describe('delays', () => {
  const low = toPool('low', { priority: 10, want: 8, held: 8, min: 1 })
  const high = toPool('high', { priority: 90, want: 3, held: 0 })

  test('a lower pool keeps what it has until a higher one has been short for 10 s', () => {
    const first = fit([low, high], 8)
    expect(Object.fromEntries(first.given)).toEqual({ low: 8, high: 0 })
    const soon = fit([low, high], 8, { state: first.state, nowMs: 9999 })
    expect(soon.given.get('low')).toBe(8)
    const later = fit([low, high], 8, { state: soon.state, nowMs: 10_000 })
    expect(Object.fromEntries(later.given)).toEqual({ low: 5, high: 3 })
    expect(Object.fromEntries(later.reclaim)).toEqual({ low: 3 })
  })

  test('a shortage that ends in between starts anew', () => {
    const { state } = fit([low, high], 8)
    const ended = fit([low, { ...high, want: 0 }], 8, { state, nowMs: 5000 })
    expect(ended.state.shortSince).toEqual({})
    expect(fit([low, high], 8, { state: ended.state, nowMs: 12_000 }).given.get('low')).toBe(8)
  })

  test('free GPUs go to the higher pool at once', () => {
    expect(given([{ ...low, held: 4 }, high], 8)).toEqual({ high: 3, low: 5 })
  })

  test('equals keep what they have until one has been behind by more than a quarter for 60 s', () => {
    const pools = [toPool('a', { want: 4, held: 4 }), toPool('b', { want: 4 })]
    const first = fit(pools, 4)
    expect(Object.fromEntries(first.given)).toEqual({ a: 4, b: 0 })
    const before = fit(pools, 4, { state: first.state, nowMs: 59_999 })
    expect(before.given.get('b')).toBe(0)
    const levelled = fit(pools, 4, { state: before.state, nowMs: 60_000 })
    const settled = fit(pools, 4, { state: levelled.state, nowMs: 75_000 })
    expect(Object.fromEntries(settled.given)).toEqual({ a: 2, b: 2 })
  })

  test('levelling moves replicas between equals alone, never to a lower priority', () => {
    const pools = [
      toPool('a', { priority: 90, want: 4 }),
      toPool('b', { priority: 90, want: 4, held: 4 }),
      toPool('low', { priority: 10, want: 4, held: 4 }),
    ]
    const { state } = fit(pools, 4)
    const levelled = fit(pools, 4, { state, nowMs: 60_000 })
    expect(Object.fromEntries(levelled.given)).toEqual({ a: 2, b: 2, low: 0 })
  })

  test('a difference of a quarter is left, and equal needs do not swap their only replica', () => {
    const quarter = [toPool('a', { want: 8, held: 5 }), toPool('b', { want: 8, held: 3 })]
    expect(Object.fromEntries(entitled(quarter, 8))).toEqual({ a: 5, b: 3 })
    const one = [toPool('a', { want: 1 }), toPool('b', { want: 1, held: 1 })]
    expect(Object.fromEntries(entitled(one, 1))).toEqual({ a: 0, b: 1 })
  })
})

describe('for any pools', () => {
  const pool = fc.record({
    gpus: fc.constantFrom(1, 2, 4, 8),
    min: fc.nat(3),
    extra: fc.nat(8),
    priority: fc.constantFrom(10, 50, 90),
    held: fc.nat(10),
  })
  const mixed = fc
    .array(pool, { minLength: 1, maxLength: 5 })
    .map((pools) =>
      pools.map(({ extra, ...fields }, index) =>
        toPool(`p${index}`, { ...fields, want: fields.min + extra, order: index % 2 }),
      ),
    )
  const alike = mixed.map((pools) => pools.map((each) => ({ ...each, gpus: 2 })))
  const minima = (pools: readonly BudgetPool[]) => pools.reduce((sum, { min, gpus }) => sum + min * gpus, 0)
  const used = (pools: readonly BudgetPool[], replicas: ReadonlyMap<string, number>) =>
    pools.reduce((sum, each) => sum + (replicas.get(each.pool) ?? 0) * each.gpus, 0)

  test('never above the budget, before and after the delays', () => {
    fc.assert(
      fc.property(mixed, fc.nat(80), (pools, gpus) => {
        expect(used(pools, fit(pools, gpus).given)).toBeLessThanOrEqual(gpus)
        expect(used(pools, entitled(pools, gpus))).toBeLessThanOrEqual(gpus)
      }),
    )
  })

  test('every minimum and never more than wanted, where the minima fit', () => {
    fc.assert(
      fc.property(mixed, fc.nat(60), (pools, spare) => {
        const gpus = minima(pools) + spare
        for (const replicas of [fit(pools, gpus).given, entitled(pools, gpus)]) {
          for (const { pool: name, min, want } of pools) {
            expect(replicas.get(name)).toBeGreaterThanOrEqual(min)
            expect(replicas.get(name)).toBeLessThanOrEqual(want)
          }
        }
      }),
    )
  })

  test('no GPU stays unused while a replica that is wanted fits', () => {
    fc.assert(
      fc.property(mixed, fc.nat(80), (pools, gpus) => {
        const replicas = entitled(pools, gpus)
        const left = gpus - used(pools, replicas)
        const fitting = pools.filter(
          (each) => (replicas.get(each.pool) ?? 0) < each.want && each.gpus <= left,
        )
        expect(fitting).toEqual([])
      }),
    )
  })

  // The next three rules hold only for replicas of equal size. With different sizes, a large replica that fits now
  // takes the room of several small ones.
  test('a higher priority never gives a pool less', () => {
    fc.assert(
      fc.property(alike, fc.nat(60), (pools, spare) => {
        const gpus = minima(pools) + spare
        const [first, ...others] = pools
        if (first === undefined) return
        const before = entitled(pools, gpus).get(first.pool) ?? 0
        const raised = entitled([{ ...first, priority: first.priority + 40 }, ...others], gpus)
        expect(raised.get(first.pool)).toBeGreaterThanOrEqual(before)
      }),
    )
  })

  test('more budget never gives a pool less', () => {
    fc.assert(
      fc.property(alike, fc.nat(60), fc.nat(8), (pools, spare, more) => {
        const fresh = pools.map((each) => ({ ...each, held: 0 }))
        const gpus = minima(pools) + spare
        const [before, after] = [entitled(fresh, gpus), entitled(fresh, gpus + more)]
        for (const { pool: name } of pools)
          expect(after.get(name)).toBeGreaterThanOrEqual(before.get(name) ?? 0)
      }),
    )
  })

  test('one replica more that is wanted moves at most one replica', () => {
    fc.assert(
      fc.property(alike, fc.nat(60), (pools, spare) => {
        const gpus = minima(pools) + spare
        const [first, ...others] = pools.map((each) => ({ ...each, held: 0 }))
        if (first === undefined) return
        const before = entitled([first, ...others], gpus)
        const after = entitled([{ ...first, want: first.want + 1 }, ...others], gpus)
        const changes = pools.map(({ pool: name }) => (after.get(name) ?? 0) - (before.get(name) ?? 0))
        const gained = changes[0] ?? 0
        expect([0, 1]).toContain(gained)
        const lost = changes.slice(1).reduce((sum, change) => sum - change, 0)
        expect(lost).toBeLessThanOrEqual(gained)
        expect(changes.slice(1).every((change) => change <= 0)).toBe(true)
      }),
    )
  })
})
