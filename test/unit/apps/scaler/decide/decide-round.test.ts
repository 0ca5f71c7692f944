import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideRound, type RoundModel } from '#apps/scaler/decide/decide-round.ts'
import { NO_BUDGET_STATE, type PodView, type PoolSpec } from '#apps/scaler/decide/types.ts'
import { runs } from '#test/support/long.ts'
import { toLoad, toPod, toPods, toSpec, toState } from './fixtures.ts'
import { runHistory } from './pool-history.ts'

const NOW_MS = 10_000_000

function toModel(spec: PoolSpec, fields: { running?: number; pods?: readonly PodView[] } = {}): RoundModel {
  const load = toLoad({ running: fields.running ?? 0 })
  return { model: spec.model, load, pools: [{ spec, pods: fields.pods ?? [], isPaused: false }] }
}

function decide(models: readonly RoundModel[], targets: Readonly<Record<string, number>>, gpus = 8) {
  const pools = Object.fromEntries(Object.entries(targets).map(([pool, target]) => [pool, toState(target)]))
  const state = { pools, budget: NO_BUDGET_STATE }
  return decideRound({ models, budget: { h100: gpus }, state, hpaTolerance: 0, nowMs: NOW_MS })
}

const H100 = { gpuClass: 'h100', slots: 1, utilization: 1 }

describe('one round', () => {
  test('the need of a model becomes the target of its pool', () => {
    const spec = toSpec({ ...H100, pool: 'a', model: 'a' })
    const round = decide([toModel(spec, { running: 5 })], { a: 0 })
    expect(round.changes.get('a')).toMatchObject({ want: 5, given: 5, target: 5, reason: 'rise' })
    expect(round.needs.get('a')).toMatchObject({ raw: 5, term: 'busy' })
    expect(round.gpus.get('h100')).toEqual({ budget: 8, used: 5, deleting: 0, free: 3 })
  })

  test('a floor that is above the need is the deciding term', () => {
    const floors = [{ cron: '* * * * *', timezone: 'UTC', min: 3 }]
    const round = decide([toModel(toSpec({ pool: 'a', model: 'a', floors }))], { a: 0 })
    expect(round.changes.get('a')?.target).toBe(3)
    expect(round.needs.get('a')?.term).toBe('floor')
  })

  test('free GPUs go to the higher priority, and one is not given twice', () => {
    const [low, high] = [10, 90].map((priority) =>
      toSpec({ ...H100, pool: `p${priority}`, model: `p${priority}`, priority }),
    )
    if (low === undefined || high === undefined) throw new Error('two pools')
    const round = decide([toModel(low, { running: 6 }), toModel(high, { running: 6 })], { p10: 0, p90: 0 })
    expect(round.changes.get('p90')?.target).toBe(6)
    expect(round.changes.get('p10')?.target).toBe(2)
  })

  test('GPUs that both may have but that are not all free yet go to the higher priority first', () => {
    const pools = [10, 90].map((priority) =>
      toSpec({ ...H100, pool: `p${priority}`, model: `p${priority}`, priority }),
    )
    const leaving = Array.from({ length: 5 }, (_, index) => toPod(`x${index}`, { phase: 'deleting' }))
    const round = decide(
      pools.map((spec) => toModel(spec, { running: 3, pods: spec.priority === 10 ? leaving : [] })),
      { p10: 0, p90: 0 },
    )
    expect(round.changes.get('p90')).toMatchObject({ given: 3, target: 3 })
    expect(round.changes.get('p10')).toMatchObject({ given: 3, target: 0, reason: 'no-gpu' })
  })

  test('pods that are being deleted have their GPUs until they are gone', () => {
    const spec = toSpec({ ...H100, pool: 'a', model: 'a' })
    const pods = [...toPods(4), toPod('x', { phase: 'deleting' }), toPod('y', { phase: 'deleting' })]
    const round = decide([toModel(spec, { running: 8, pods })], { a: 4 })
    expect(round.changes.get('a')?.target).toBe(6)
    expect(round.gpus.get('h100')).toEqual({ budget: 8, used: 6, deleting: 2, free: 0 })
  })

  test('an unknown pool is adopted with its pods', () => {
    const spec = toSpec({ ...H100, pool: 'a', model: 'a' })
    const round = decide([toModel(spec, { pods: toPods(3) })], {})
    expect(round.state.pools['a']).toMatchObject({ target: 3, windowSinceMs: NOW_MS })
  })
})

const step = fc.record({
  seconds: fc.integer({ min: 1, max: 6 }),
  needs: fc.tuple(fc.nat(6), fc.nat(11)),
  syncs: fc.boolean(),
  // Thousandths, because `fc.double` draws mostly numbers near 0.
  fates: fc.array(
    fc.nat(999).map((thousandths) => thousandths / 1000),
    { minLength: 3, maxLength: 7 },
  ),
})

test('in random histories no busy pod goes, no rise is undone within the window, and no GPU is used twice', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 50 }), (steps) => {
      expect(runHistory(steps)).toEqual([])
    }),
    { numRuns: runs(500, 10_000) },
  )
}, 1_800_000)
