import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideRound, type RoundModel } from '#apps/scaler/decide/decide-round.ts'
import { NO_SWITCHES, type KedaSwitches } from '#apps/scaler/decide/keda-switches.ts'
import { NO_BUDGET_STATE, type PodView, type PoolSpec } from '#apps/scaler/decide/types.ts'
import { runs } from '#test/support/long.ts'
import { toLoad, toPod, toPods, toSpec, toState } from './fixtures.ts'
import { runHistory } from './pool-history.ts'

const NOW_MS = 10_000_000

type ModelFields = { running?: number; pods?: readonly PodView[]; switches?: Partial<KedaSwitches> }

function toModel(spec: PoolSpec, fields: ModelFields = {}): RoundModel {
  const load = toLoad({ running: fields.running ?? 0 })
  const switches = { ...NO_SWITCHES, ...fields.switches }
  return { model: spec.model, load, pools: [{ spec, pods: fields.pods ?? [], switches }] }
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
    const floors = [{ cron: '0 0 * * *', timezone: 'UTC', min: 3 }]
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

describe('a pool whose ScaledObject is paused', () => {
  const spec = toSpec({ ...H100, pool: 'a', model: 'a', downWindowMs: 0 })
  const other = toSpec({ ...H100, pool: 'b', model: 'b' })
  const changeOf = (fields: ModelFields, target: number, over: Partial<PoolSpec> = {}) =>
    decide([toModel({ ...spec, ...over }, fields)], { a: target }).changes.get('a')

  test('for scaling in keeps its pods, cordons none, and rises', () => {
    const switches = { isInPaused: true }
    expect(changeOf({ switches, pods: toPods(4) }, 4)).toMatchObject({ target: 4, cordon: [] })
    expect(changeOf({ switches, pods: toPods(4), running: 6 }, 4)).toMatchObject({
      target: 6,
      reason: 'rise',
    })
    // During the pause a pod that was marked before is not removed, so it serves again.
    const marked = toPod('a', { phase: 'cordoned', cordonTerm: 1, deletionCost: -1000 })
    const pods = [marked, toPod('b')]
    const released = [{ uid: 'a', sinceMs: 0, isForced: false, markedMs: 1, loweredMs: 2, replacedMs: null }]
    const state = { pools: { a: toState(1, { released }) }, budget: NO_BUDGET_STATE }
    const models = [toModel(spec, { switches, pods })]
    const round = decideRound({ models, budget: {}, state, hpaTolerance: 0, nowMs: NOW_MS })
    expect(round.changes.get('a')).toMatchObject({ target: 2, cordon: [], uncordon: ['a'], release: [] })
  })

  test('for scaling in gives nothing back to a budget that is too small', () => {
    const models = [
      toModel(spec, { switches: { isInPaused: true }, pods: toPods(4), running: 4 }),
      toModel({ ...other, priority: 90 }, { running: 6 }),
    ]
    const round = decide(models, { a: 4, b: 0 }, 3)
    expect(round.changes.get('a')).toMatchObject({ target: 4, cordon: [] })
    expect(round.changes.get('b')?.target).toBe(0)
  })

  test('for scaling out falls, lets cordoned pods serve again, and orders no pod', () => {
    const switches = { isOutPaused: true }
    expect(changeOf({ switches, pods: toPods(2), running: 6 }, 2)).toMatchObject({ target: 2, cordon: [] })
    expect(changeOf({ switches, running: 6 }, 0)).toMatchObject({ target: 0, isActive: false })
    expect(changeOf({ switches, running: 6 }, 0, { min: 2 })?.target).toBe(0)
    const state = {
      pools: { a: toState(3, { cordoned: [{ uid: 'a', sinceMs: 0 }] }) },
      budget: NO_BUDGET_STATE,
    }
    const models = [toModel(spec, { switches, pods: toPods(3), running: 9 })]
    const back = decideRound({ models, budget: {}, state, hpaTolerance: 0, nowMs: NOW_MS })
    expect(back.changes.get('a')).toMatchObject({ target: 3, cordon: [], reason: 'uncordon' })
    const idle = { ...toModel(spec, { switches, pods: toPods(3) }), load: toLoad({ idleForMs: 9e9 }) }
    expect(decide([idle], { a: 3 }).changes.get('a')).toMatchObject({ reason: 'idle' })
  })

  test('for scaling out leaves the GPUs and the load that it cannot take to others', () => {
    const paused = { isOutPaused: true }
    const models = [
      toModel({ ...spec, priority: 90 }, { switches: paused, pods: toPods(1), running: 8 }),
      toModel(other, { running: 7 }),
    ]
    expect(decide(models, { a: 1, b: 0 }).changes.get('b')?.target).toBe(7)
    const pools = [
      { spec: { ...spec, max: 5 }, pods: toPods(1), switches: { ...NO_SWITCHES, ...paused } },
      { spec: { ...spec, pool: 'spot', order: 2 }, pods: [], switches: NO_SWITCHES },
    ]
    const round = decide([{ model: 'a', load: toLoad({ running: 4 }), pools }], { a: 1, spot: 0 })
    expect([round.changes.get('a')?.target, round.changes.get('spot')?.target]).toEqual([1, 3])
  })

  test('for both keeps the pods that it has, whatever the load and the budget', () => {
    const switches = { isInPaused: true, isOutPaused: true }
    expect(changeOf({ switches, pods: toPods(3), running: 8 }, 7)).toMatchObject({
      target: 3,
      want: 3,
      reason: 'paused',
    })
    expect(changeOf({ switches, pods: [], running: 8 }, 0)).toMatchObject({ target: 0, want: 0 })
  })

  test('a pool that KEDA keeps active has one replica that serves, though nothing is asked', () => {
    const idle = (switches: Partial<KedaSwitches>) => ({
      ...toModel(spec, { switches, pods: toPods(1) }),
      load: toLoad({ idleForMs: 9e9 }),
    })
    expect(decide([idle({})], { a: 1 }).changes.get('a')?.cordon).toHaveLength(1)
    expect(decide([idle({ isForcedActive: true })], { a: 1 }).changes.get('a')).toMatchObject({
      target: 1,
      cordon: [],
    })
  })
})

const step = fc.record({
  seconds: fc.integer({ min: 1, max: 6 }),
  needs: fc.tuple(fc.nat(6), fc.nat(11)),
  syncs: fc.boolean(),
  // Draws thousandths, because `fc.double` draws mostly numbers near 0.
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
