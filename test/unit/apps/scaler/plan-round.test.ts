import { expect, test } from 'vitest'
import { NO_SWITCHES } from '#apps/scaler/decide/keda-switches.ts'
import type { ModelLoad, PodView } from '#apps/scaler/decide/types.ts'
import { toWords } from '#apps/scaler/explain-models.ts'
import { planRound, type RoundInput } from '#apps/scaler/plan-round.ts'
import { parseScalerModels } from '#apps/scaler/scaler-models.ts'
import type { Snapshot } from '#apps/scaler/snapshot.ts'

const NOW = 1_800_000_000_000

const LOAD: ModelLoad & { ready: number } = {
  freshPerS: 0,
  waiting: 0,
  waitingTokens: 0,
  running: 0,
  meanServiceMs: 10_000,
  meanOutputTokens: null,
  decodePerReplica: null,
  prefillPerReplica: null,
  slotsPerReplica: 10,
  unserved: false,
  idleForMs: 0,
  ready: 0,
}

const POD: PodView = {
  name: 'pod',
  uid: 'uid',
  pool: 'pool',
  phase: 'ready',
  running: 0,
  cordonTerm: null,
  idleReports: 0,
  sincePhaseMs: 0,
  disrupted: false,
  operatorCordoned: false,
  deletionCost: null,
}

const pool = {
  pool: 'pool',
  model: 'chat',
  gpuClass: 'h100',
  gpus: 1,
  min: 0,
  max: 8,
  floors: [],
  priority: 50,
  order: 1,
  slots: 10,
  targetWaitSeconds: 60,
  utilization: 1,
  idleSeconds: 900,
  downWindowSeconds: 300,
  startSeconds: 180,
  spot: false,
}

function plan(
  fields: {
    load?: Partial<typeof LOAD>
    pods?: PodView[]
    pool?: object
    budget?: number
  } & Partial<RoundInput>,
) {
  const { load = {}, pods = [], budget = 16, ...rest } = fields
  const file = {
    pools: [{ ...pool, ...fields.pool }],
    budget: { h100: budget },
    gateway: null,
    hpaTolerance: 0,
  }
  return planRound({
    scaler: parseScalerModels(JSON.stringify(file)),
    loadOf: () => ({ ...LOAD, ...load }),
    waitingOf: () => ({ count: 0, oldestMs: null }),
    podsOf: () => pods,
    switchesOf: () => NO_SWITCHES,
    gateways: null,
    gatewayReplicas: null,
    starts: {},
    before: null,
    nowMs: NOW,
    ...rest,
  })
}

const stateOf = (round: ReturnType<typeof plan>) => round.next.report[0]
const snapshotOf = (round: ReturnType<typeof plan>): Snapshot => ({ ...round.next, term: 1, means: {} })

test('demand becomes a target, KEDA’s answer and the reason in words', () => {
  const round = plan({ load: { freshPerS: 6.5 } })
  expect(round.next.answers).toEqual({ pool: { target: 7, isActive: true } })
  const report = stateOf(round)
  expect(report).toMatchObject({ need: 7, term: 'busy', terms: { busy: 6.5 }, state: 'warming', target: 7 })
  expect(report === undefined ? '' : toWords(report)).toBe(
    '7 needed: 6.5/s offered for 10.0 s each, 0 running, 0 waiting, over 10 slots a replica; pool: 7, rises',
  )
})

test('a model is serving, stopped, off or warming by its workers, its target and its maxima', () => {
  expect(stateOf(plan({ load: { ready: 1 }, pods: [POD] }))).toMatchObject({ state: 'serving', etaMs: null })
  expect(stateOf(plan({}))).toMatchObject({ state: 'stopped', target: 0, etaMs: 180_000 })
  expect(stateOf(plan({ pool: { max: 0 } }))).toMatchObject({ state: 'off', etaMs: null })
  const loading: PodView = { ...POD, phase: 'loading', sincePhaseMs: 60_000 }
  expect(stateOf(plan({ load: { unserved: true }, pods: [loading] }))).toMatchObject({
    state: 'warming',
    etaMs: 120_000,
  })
})

test('a model without a GPU is starved after ten minutes, and no longer once a pod loads', () => {
  const load = { unserved: true }
  const unscheduled: PodView = { ...POD, phase: 'unscheduled' }
  let round = plan({ load, pods: [unscheduled] })
  for (const nowMs of [NOW + 300_000, NOW + 599_000]) {
    round = plan({ load, pods: [unscheduled], before: snapshotOf(round), nowMs })
    expect(stateOf(round)?.state).toBe('warming')
  }
  const before = snapshotOf(round)
  expect(stateOf(plan({ load, pods: [unscheduled], before, nowMs: NOW + 601_000 }))?.state).toBe('starved')
  const loading: PodView = { ...POD, phase: 'loading' }
  const later = plan({ load, pods: [loading], before, nowMs: NOW + 601_000 })
  expect(stateOf(later)?.state).toBe('warming')
  expect(later.next.starving).toEqual({})
})

test('a paused pool at zero is off: no request starts it, and it lacks no GPU', () => {
  const load = { unserved: true }
  for (const pause of [{ isOutPaused: true }, { isOutPaused: true, isInPaused: true }]) {
    const switchesOf = () => ({ ...NO_SWITCHES, ...pause })
    const round = plan({ load, switchesOf })
    expect(stateOf(round)).toMatchObject({ state: 'off', target: 0, etaMs: null })
    expect(round.next.starving).toEqual({})
    const loading: PodView = { ...POD, phase: 'loading' }
    expect(stateOf(plan({ load, switchesOf, pods: [loading] }))?.state).toBe('warming')
  }
  const switchesOf = () => ({ ...NO_SWITCHES, isInPaused: true })
  expect(stateOf(plan({ load, switchesOf }))).toMatchObject({ state: 'warming', target: 1 })
})

test('the report says in which directions a pool is paused', () => {
  const pauseOf = (pause: object) => {
    const report = stateOf(plan({ pods: [POD], switchesOf: () => ({ ...NO_SWITCHES, ...pause }) }))
    return [report?.pools[0]?.pause, report === undefined ? '' : toWords(report).split('; ')[1]]
  }
  expect(pauseOf({})).toEqual(['none', undefined])
  expect(pauseOf({ isInPaused: true })).toEqual(['in', 'pool: 1, its ScaledObject is paused for scaling in'])
  expect(pauseOf({ isOutPaused: true })[0]).toBe('out')
  expect(pauseOf({ isInPaused: true, isOutPaused: true })).toEqual([
    'both',
    'pool: 1, its ScaledObject is paused',
  ])
})

test('a pool that was never seen keeps what Kubernetes has', () => {
  const pods = ['a', 'b', 'c'].map((uid) => ({ ...POD, uid, name: uid }))
  expect(plan({ load: { ready: 3 }, pods }).next.answers).toEqual({ pool: { target: 3, isActive: true } })
})

test('the budget bounds the target, and the report has what was wanted and given', () => {
  const round = plan({ load: { freshPerS: 6.5 }, budget: 3 })
  expect(round.next.answers['pool']?.target).toBe(3)
  expect(stateOf(round)?.pools[0]).toMatchObject({ want: 7, given: 3, target: 3 })
  expect(round.gpus.get('h100')).toMatchObject({ budget: 3, used: 3, free: 0 })
})
