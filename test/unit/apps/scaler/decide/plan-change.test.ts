import { describe, expect, test } from 'vitest'
import { adoptPool, planChange, protectedWant, type ChangeInput } from '#apps/scaler/decide/plan-change.ts'
import type { PodView } from '#apps/scaler/decide/types.ts'
import { toPod, toPods, toSpec, toState } from './fixtures.ts'

const NOW_MS = 10_000_000

function plan(fields: Partial<ChangeInput>) {
  return planChange({
    spec: toSpec(),
    state: toState(0),
    raw: 0,
    given: 1000,
    freeGpus: Infinity,
    isIdle: false,
    pods: [],
    isPaused: false,
    hpaTolerance: 0,
    nowMs: NOW_MS,
    ...fields,
  })
}

const cordoned = (...uids: string[]) => uids.map((uid) => ({ uid, sinceMs: NOW_MS - 5000 }))
const released = (
  uid: string,
  fields: { loweredMs?: number; markedMs?: number; isForced?: boolean } = {},
) => ({
  uid,
  sinceMs: NOW_MS - 5000,
  isForced: false,
  markedMs: null,
  loweredMs: null,
  replacedMs: null,
  ...fields,
})
const idle: Partial<PodView> = { phase: 'cordoned', running: 0, idleReports: 2, cordonTerm: 1 }

describe('up', () => {
  test('the target rises at once to what is wanted, within maximum and budget', () => {
    expect(plan({ state: toState(2), pods: toPods(2), raw: 40 })).toMatchObject({
      target: 40,
      reason: 'rise',
    })
    expect(plan({ state: toState(2), pods: toPods(2), raw: 400 }).target).toBe(100)
    expect(plan({ state: toState(2), pods: toPods(2), raw: 40, given: 7 }).target).toBe(7)
  })

  test('only into GPUs that are free', () => {
    const rise = { spec: toSpec({ gpus: 4 }), state: toState(2), pods: toPods(2), raw: 9 }
    expect(plan({ ...rise, freeGpus: 11 })).toMatchObject({ target: 4, reason: 'rise' })
    expect(plan({ ...rise, freeGpus: 3 })).toMatchObject({ target: 2, reason: 'no-gpu' })
  })

  test('cordoned pods serve again first, the busiest before the others', () => {
    const pods = toPods(4)
    const change = plan({ state: toState(4, { cordoned: cordoned('a', 'c', 'b') }), pods, raw: 2 })
    expect(change).toMatchObject({ target: 4, cordon: ['a', 'b'], reason: 'uncordon' })
    const more = plan({ state: toState(4, { cordoned: cordoned('a', 'c', 'b') }), pods, raw: 6 })
    expect(more).toMatchObject({ target: 6, cordon: [], reason: 'rise' })
  })

  test('a released pod comes back too, and the target with it', () => {
    const state = toState(1, { released: [released('a', { markedMs: 1, loweredMs: NOW_MS - 2000 })] })
    const pods = [toPod('a', { ...idle, deletionCost: -1000 }), toPod('b')]
    expect(plan({ state, pods, raw: 2 })).toMatchObject({ target: 2, cordon: [], uncordon: ['a'] })
  })
})

describe('down', () => {
  const pods = toPods(20)
  const state = (fields = {}) => toState(20, { windowSinceMs: 0, ...fields })

  test('less is wanted: nothing happens while the window remembers more, or is not whole', () => {
    const remembers = state({ window: [[NOW_MS - 5000, 20]] })
    expect(plan({ state: remembers, pods, raw: 5 })).toMatchObject({ cordon: [], reason: 'window' })
    const young = state({ windowSinceMs: NOW_MS - 299_000 })
    expect(plan({ state: young, pods, raw: 5 })).toMatchObject({ cordon: [], reason: 'window' })
  })

  test('then a tenth is cordoned, least busy first, and the target waits for them', () => {
    const change = plan({ state: state(), pods, raw: 5 })
    expect(change).toMatchObject({ target: 20, cordon: ['a', 'b'], release: [], reason: 'step' })
  })

  test('the next step follows after 60 s', () => {
    const stepped = (agoMs: number) =>
      plan({ state: state({ lastDownMs: NOW_MS - agoMs }), pods, raw: 5 }).cordon
    expect(stepped(59_999)).toEqual([])
    expect(stepped(60_000)).toEqual(['a', 'b'])
  })

  test('at least one, and never below what the window wants', () => {
    expect(plan({ state: toState(3), pods: toPods(3), raw: 1 }).cordon).toEqual(['a'])
    expect(plan({ state: state({ window: [[NOW_MS - 5000, 19]] }), pods, raw: 5 }).cordon).toEqual(['a'])
  })

  test('pods without a node go at once and without a cordon, all that are too many', () => {
    const unscheduled = Array.from({ length: 9 }, (_, index) => toPod(`u${index}`, { phase: 'unscheduled' }))
    const change = plan({
      state: toState(12, { lastDownMs: NOW_MS }),
      pods: [...toPods(3), ...unscheduled],
      raw: 4,
    })
    expect(change.release).toEqual(unscheduled.slice(0, 8).map(({ name }) => name))
  })

  test('replicas that have no pod yet are simply no longer wanted', () => {
    expect(plan({ state: toState(9), pods: toPods(3), raw: 4 })).toMatchObject({ target: 4, cordon: [] })
  })
})

describe('the way out', () => {
  const inCordon = toState(2, { cordoned: cordoned('a') })

  test('a cordoned pod is released after two reports of being empty', () => {
    const once = plan({
      state: inCordon,
      pods: [toPod('a', { ...idle, idleReports: 1 }), toPod('b')],
      raw: 1,
    })
    expect(once).toMatchObject({ cordon: ['a'], release: [] })
    const twice = plan({ state: inCordon, pods: [toPod('a', idle), toPod('b')], raw: 1 })
    expect(twice).toMatchObject({ cordon: ['a'], release: ['a'], target: 2 })
  })

  test('the target falls one second after Kubernetes lists the deletion cost', () => {
    const pods = [toPod('a', { ...idle, deletionCost: -1000 }), toPod('b')]
    const seen = plan({ state: toState(2, { released: [released('a')] }), pods, raw: 1 })
    expect(seen).toMatchObject({ target: 2, release: [] })
    const soon = plan({ state: seen.state, pods, raw: 1, nowMs: NOW_MS + 999 })
    expect(soon.target).toBe(2)
    const later = plan({ state: soon.state, pods, raw: 1, nowMs: NOW_MS + 1000 })
    expect(later).toMatchObject({ target: 1, cordon: ['a'] })
    const gone = plan({ state: later.state, pods: [toPod('a', { phase: 'deleting' }), toPod('b')], raw: 1 })
    expect(gone.state).toMatchObject({ target: 1, released: [], unplannedRemovals: 0 })
  })

  test('a released pod that serves again is cordoned instead of deleted', () => {
    const state = toState(2, { released: [released('a', { markedMs: 1 })] })
    const pods = [toPod('a', { running: 1, deletionCost: -1000 }), toPod('b')]
    const change = plan({ state, pods, raw: 1 })
    expect(change).toMatchObject({ target: 2, cordon: ['a'], uncordon: [], state: { released: [] } })
  })

  test('another pod that goes in its place is counted, and the chosen one serves again', () => {
    const state = toState(1, { released: [released('a', { markedMs: 1, loweredMs: NOW_MS - 3000 })] })
    const pods = [toPod('a', { ...idle, deletionCost: -1000 }), toPod('b', { phase: 'deleting' })]
    const noticed = plan({ state, pods, raw: 1 })
    expect(noticed.state.unplannedRemovals).toBe(0)
    const later = plan({ state: noticed.state, pods, raw: 1, nowMs: NOW_MS + 5000 })
    expect(later).toMatchObject({ target: 1, uncordon: ['a'], state: { unplannedRemovals: 1, released: [] } })
  })

  test('one in whose place another went comes back in a rise without a second replica for it', () => {
    const state = toState(1, { released: [released('a', { markedMs: 1, loweredMs: NOW_MS - 3000 })] })
    const pods = [toPod('a', { ...idle, deletionCost: -1000 }), toPod('b', { phase: 'deleting' })]
    const change = plan({ state, pods, raw: 3, freeGpus: 1 })
    expect(change).toMatchObject({ target: 2, uncordon: ['a'], state: { unplannedRemovals: 1 } })
  })

  test('of two released pods either may go first, and both go', () => {
    const lowered = released('a', { markedMs: 1, loweredMs: NOW_MS - 3000 })
    const state = toState(2, { released: [lowered, released('b', { markedMs: NOW_MS })] })
    const marked = { ...idle, deletionCost: -1000 }
    const pods = [toPod('a', marked), toPod('b', { ...marked, phase: 'deleting' }), toPod('c')]
    expect(plan({ state, pods, raw: 1 })).toMatchObject({ target: 1, state: { unplannedRemovals: 0 } })
  })

  test('a pod that is not deleted within 60 s is taken back', () => {
    const state = toState(1, { released: [released('a', { markedMs: 1, loweredMs: NOW_MS - 60_000 })] })
    const pods = [toPod('a', { ...idle, deletionCost: -1000 }), toPod('b')]
    expect(plan({ state, pods, raw: 1, nowMs: NOW_MS })).toMatchObject({ state: { target: 2, released: [] } })
  })

  test('a worker that has not obeyed for 60 s is released as it is, one that obeys never while it is busy', () => {
    const old = toState(2, { cordoned: [{ uid: 'a', sinceMs: NOW_MS - 60_000 }] })
    const ready = [toPod('a', { running: 3 }), toPod('b')]
    expect(plan({ state: old, pods: ready, raw: 1 }).release).toEqual(['a'])
    const obeying = [toPod('a', { phase: 'cordoned', running: 3 }), toPod('b')]
    expect(plan({ state: old, pods: obeying, raw: 1 }).release).toEqual([])
  })

  test('cordons and costs that the state does not know end, an operator’s cordon does not', () => {
    const pods = [
      toPod('a', { phase: 'cordoned', cordonTerm: 3 }),
      toPod('b', { deletionCost: -1000 }),
      toPod('c', { phase: 'cordoned', cordonTerm: 3, operatorCordoned: true }),
      toPod('d', { deletionCost: 100 }),
    ]
    expect(plan({ state: toState(4), pods, raw: 4 }).uncordon).toEqual(['a', 'b'])
  })
})

describe('zero', () => {
  test('a model at rest gives back all pods at once, by cordon', () => {
    const change = plan({ state: toState(3, { lastDownMs: NOW_MS }), pods: toPods(3), isIdle: true })
    expect(change).toMatchObject({ target: 3, cordon: ['a', 'b', 'c'], isActive: true, reason: 'idle' })
  })

  test('inactive only with a target of 0 and at most one pod', () => {
    const gone = (names: string[]) => ({
      state: toState(0, {
        released: names.map((name) => released(name, { markedMs: 1, loweredMs: NOW_MS })),
      }),
      pods: names.map((name) => toPod(name, { ...idle, deletionCost: -1000 })),
      isIdle: true,
    })
    expect(plan(gone(['a', 'b']))).toMatchObject({ target: 0, isActive: true })
    expect(plan(gone(['a']))).toMatchObject({ target: 0, isActive: false, cordon: ['a'] })
    expect(plan({ state: toState(1), pods: [toPod('a')], raw: 1 }).isActive).toBe(true)
  })
})

describe('budget', () => {
  test('less than what serves is given back at once, by cordon, whatever the window says', () => {
    const state = toState(8, { window: [[NOW_MS - 1000, 8]], lastDownMs: NOW_MS })
    const change = plan({ state, pods: toPods(8), raw: 8, given: 5 })
    expect(change).toMatchObject({ target: 8, cordon: ['a', 'b', 'c'], reason: 'reclaim' })
  })

  test('it is asked for what is wanted or still there, and for nothing by a model at rest', () => {
    const spec = toSpec({ max: 9 })
    expect(protectedWant(toState(4), { spec, raw: 2, isIdle: false })).toBe(4)
    expect(protectedWant(toState(4), { spec, raw: 20, isIdle: false })).toBe(9)
    expect(protectedWant(toState(4), { spec, raw: 0, isIdle: true })).toBe(0)
  })
})

describe('paused', () => {
  test('cordons end, nothing is released, and the target is what exists', () => {
    const pods = [toPod('a', { ...idle, deletionCost: -1000 }), toPod('b'), toPod('c', { phase: 'deleting' })]
    const state = toState(7, { released: [released('a')] })
    const change = plan({ state, pods, raw: 1, isPaused: true })
    expect(change).toMatchObject({ target: 2, cordon: [], uncordon: ['a'], release: [], reason: 'paused' })
  })
})

describe('an HPA that ignores a tenth', () => {
  const hpaTolerance = 0.1

  test('a rise that it would ignore becomes one that it follows', () => {
    expect(plan({ state: toState(50), pods: toPods(50), raw: 54, hpaTolerance }).target).toBe(56)
    expect(plan({ state: toState(50), pods: toPods(50), raw: 54, hpaTolerance: 0 }).target).toBe(54)
  })

  test('at the maximum more is published, which the HPA clamps', () => {
    const spec = toSpec({ max: 52 })
    const change = plan({ spec, state: toState(50), pods: toPods(50), raw: 60, hpaTolerance })
    expect(change).toMatchObject({ target: 56, state: { target: 52 } })
  })

  test('pods go in batches of more than a tenth, or not at all', () => {
    const step = (raw: number) =>
      plan({ state: toState(30), pods: toPods(30), raw, hpaTolerance }).cordon.length
    expect([step(27), step(26), step(10)]).toEqual([0, 4, 4])
  })

  test('the target waits until the whole batch is empty', () => {
    const pods = toPods(20).map((pod, index) => (index < 3 ? { ...pod, ...idle, deletionCost: -1000 } : pod))
    const entries = ['a', 'b', 'c'].map((uid) => released(uid, { markedMs: NOW_MS - 2000 }))
    const whole = plan({ state: toState(20, { released: entries }), pods, raw: 10, hpaTolerance })
    expect(whole.target).toBe(17)
    const part = toState(20, { released: entries.slice(0, 2), cordoned: cordoned('c') })
    const busy = pods.map((pod) => (pod.uid === 'c' ? { ...pod, running: 1, idleReports: 0 } : pod))
    expect(plan({ state: part, pods: busy, raw: 10, hpaTolerance }).target).toBe(20)
  })

  test('what is left of a batch that was broken up serves again', () => {
    const state = toState(20, { cordoned: cordoned('a', 'b', 'c') })
    expect(plan({ state, pods: toPods(20), raw: 18, hpaTolerance }).cordon).toEqual([])
  })
})

test('a pool that is seen first keeps the pods that it has, for a whole window', () => {
  const pods = [...toPods(3), toPod('x', { phase: 'deleting' })]
  const state = adoptPool(pods, NOW_MS)
  expect(state.target).toBe(3)
  expect(plan({ state, pods, raw: 1 })).toMatchObject({ target: 3, cordon: [], reason: 'window' })
})
