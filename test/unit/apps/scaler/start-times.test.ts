import { expect, test } from 'vitest'
import type { PodPhase, PodView } from '#apps/scaler/decide/types.ts'
import type { PhaseEnd } from '#apps/scaler/pods.ts'
import { parseScalerModels } from '#apps/scaler/scaler-models.ts'
import { createStartTimes } from '#apps/scaler/start-times.ts'

const file = {
  pools: [
    {
      pool: 'pool',
      model: 'chat',
      gpuClass: null,
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
    },
  ],
  budget: {},
  gateway: null,
  hpaTolerance: 0,
}
const spec = parseScalerModels(JSON.stringify(file)).models[0]?.pools[0]

function startKeeper() {
  const started: { ms: number; predictedMs: number }[] = []
  const starts = createStartTimes({ specOf: () => spec, onStart: (_pool, start) => started.push(start) })
  const podOf = (uid: string, phase: PodPhase): PodView => ({
    name: uid,
    uid,
    pool: 'pool',
    phase,
    running: 0,
    cordonTerm: null,
    idleReports: 0,
    sincePhaseMs: 0,
    disrupted: false,
    operatorCordoned: false,
    deletionCost: null,
  })
  const end = (uid: string, fields: Partial<PhaseEnd>): PhaseEnd => ({
    uid,
    pool: 'pool',
    image: 'engine:1',
    phase: 'unscheduled',
    ms: 1_000,
    next: 'loading',
    ...fields,
  })
  /** A pod appears, gets a node after 1 s, and serves `loadingMs` later. */
  const run = (uid: string, loadingMs: number, image = 'engine:1') => {
    starts.note({ byPool: new Map([['pool', [podOf(uid, 'unscheduled')]]]), ended: [] })
    starts.note({ byPool: new Map([['pool', [podOf(uid, 'loading')]]]), ended: [end(uid, { image })] })
    const loaded = end(uid, { image, phase: 'loading', ms: loadingMs, next: 'ready' })
    starts.note({ byPool: new Map([['pool', [podOf(uid, 'ready')]]]), ended: [loaded] })
  }
  return { starts, started, run, end, podOf }
}

test('a start is predicted from the configuration, then from what was measured', () => {
  const { starts, started, run } = startKeeper()
  run('first', 20_000)
  run('second', 22_000)
  expect(started).toEqual([
    { ms: 21_000, predictedMs: 180_000 },
    { ms: 23_000, predictedMs: 21_000 },
  ])
  expect(starts.current()).toEqual({
    pool: { image: 'engine:1', times: { unscheduled: [1_000, 1_000], loading: [20_000, 22_000] } },
  })
})

test('a new image begins with no times of the old one', () => {
  const { starts, run } = startKeeper()
  run('first', 20_000)
  run('second', 90_000, 'engine:2')
  expect(starts.current()['pool']).toEqual({
    image: 'engine:2',
    times: { unscheduled: [1_000], loading: [90_000] },
  })
})

test('a pod that is deleted before it serves is no start', () => {
  const { starts, started, end, podOf } = startKeeper()
  starts.note({ byPool: new Map([['pool', [podOf('gone', 'loading')]]]), ended: [] })
  const ended = end('gone', { phase: 'loading', ms: 5_000, next: 'deleting' })
  starts.note({ byPool: new Map(), ended: [ended] })
  expect(started).toEqual([])
  expect(starts.current()).toEqual({})
})
