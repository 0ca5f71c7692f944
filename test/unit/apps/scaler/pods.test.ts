import { describe, expect, test } from 'vitest'
import { createJoinPods, Deployment, Pod, ScaledObject, toSwitches } from '#apps/scaler/pods.ts'
import { toReportedEngines, type ReportedEngine } from '#libs/event-bus/heartbeat.ts'
import { toBeat } from '../../../support/heartbeats.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const secondsAgo = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString()

const toPod = (fields: { metadata?: object; spec?: object; status?: object } = {}) =>
  Pod.parse({
    metadata: { name: 'pod', uid: 'uid', labels: { 'millrace/pool': 'pool' }, ...fields.metadata },
    spec: { nodeName: 'node', ...fields.spec },
    status: { phase: 'Running', conditions: [], ...fields.status },
  })

/** Creates the join with one worker's last heartbeat, or without one. */
function joinWith(fields: Partial<ReportedEngine> | null, isKnown = fields !== null) {
  const [engine] = toReportedEngines(toBeat({ name: 'pod', podUid: 'uid' }, { running: 3 }))
  if (engine === undefined) throw new Error('the heartbeat has no engine')
  return createJoinPods({
    ofPod: () => (fields === null ? null : { engine: { ...engine, ...fields }, heardMs: 0, idleReports: 2 }),
    knowsPod: () => isKnown,
  })
}

const viewOf = (pod: Pod, join = joinWith(null)) => join([pod], NOW).byPool.get('pool')?.[0]
const READY = { conditions: [{ type: 'Ready', status: 'True' }] }

test.each([
  ['unscheduled', toPod({ spec: { nodeName: undefined } }), null],
  ['loading', toPod(), null],
  ['loading', toPod({ status: { phase: 'Pending' } }), { phase: 'loading' } as const],
  ['ready', toPod(), {}],
  ['cordoned', toPod({ status: READY }), { phase: 'cordoned' } as const],
  ['sick', toPod(), { phase: 'sick' } as const],
  ['silent', toPod({ status: READY }), null],
  ['deleting', toPod({ metadata: { deletionTimestamp: secondsAgo(1) } }), {}],
])('a pod is %s', (phase, pod, capacity) => {
  expect(viewOf(pod, joinWith(capacity))?.phase).toBe(phase)
})

test('a pod whose worker has reported before is silent, not loading', () => {
  expect(viewOf(toPod(), joinWith(null, true))?.phase).toBe('silent')
})

test('a view has what the worker reports and what the cluster says', () => {
  const metadata = { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-1000' } }
  const status = { conditions: [{ type: 'DisruptionTarget', status: 'True' }] }
  expect(viewOf(toPod({ metadata, status }), joinWith({ phase: 'cordoned', cordonTerm: 9 }))).toEqual({
    name: 'pod',
    uid: 'uid',
    pool: 'pool',
    phase: 'cordoned',
    running: 3,
    cordonTerm: 9,
    idleReports: 2,
    sincePhaseMs: 0,
    disrupted: true,
    operatorCordoned: false,
    deletionCost: -1_000,
  })
})

test('a cordon without a term is an operator’s', () => {
  expect(viewOf(toPod(), joinWith({ phase: 'cordoned' }))?.operatorCordoned).toBe(true)
})

test('failed and completed pods are left out', () => {
  for (const phase of ['Failed', 'Succeeded']) expect(viewOf(toPod({ status: { phase } }))).toBeUndefined()
})

test('a pod that existed before this process has the age that the cluster gives it', () => {
  const unscheduled = toPod({
    metadata: { creationTimestamp: secondsAgo(50) },
    spec: { nodeName: undefined },
  })
  const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: secondsAgo(20) }]
  const loading = toPod({ metadata: { creationTimestamp: secondsAgo(50) }, status: { conditions } })
  expect(viewOf(unscheduled)?.sincePhaseMs).toBe(50_000)
  expect(viewOf(loading)?.sincePhaseMs).toBe(20_000)
})

test('the end of a phase is reported once, with its duration', () => {
  const join = joinWith(null)
  const unscheduled = toPod({
    metadata: { creationTimestamp: secondsAgo(10) },
    spec: {
      nodeName: undefined,
      containers: [{ image: 'worker:1' }],
      initContainers: [{ image: 'engine:2' }],
    },
  })
  const loading = { ...unscheduled, spec: { ...unscheduled.spec, nodeName: 'node' } }
  expect(join([unscheduled], NOW).ended).toEqual([])
  expect(join([loading], NOW + 5_000).ended).toEqual([
    {
      uid: 'uid',
      pool: 'pool',
      image: 'engine:2 worker:1',
      phase: 'unscheduled',
      ms: 15_000,
      next: 'loading',
    },
  ])
  const later = join([loading], NOW + 9_000)
  expect(later.ended).toEqual([])
  expect(later.byPool.get('pool')?.[0]?.sincePhaseMs).toBe(4_000)
})

describe('the switches of a ScaledObject', () => {
  const switchesOf = (annotations: Record<string, string>) => {
    const named = Object.entries(annotations).map(([name, value]) => [`autoscaling.keda.sh/${name}`, value])
    const metadata = { name: 'pool', uid: '1', annotations: Object.fromEntries(named) }
    const { isOutPaused, isInPaused, isForcedActive } = toSwitches(ScaledObject.parse({ metadata }))
    return [isOutPaused, isInPaused, isForcedActive]
  }

  test('`paused` and `paused-replicas` pause both directions, the others one of them', () => {
    expect(switchesOf({})).toEqual([false, false, false])
    expect(switchesOf({ paused: 'true' })).toEqual([true, true, false])
    expect(switchesOf({ 'paused-scale-in': 'true' })).toEqual([false, true, false])
    expect(switchesOf({ 'paused-scale-out': 'true' })).toEqual([true, false, false])
    expect(switchesOf({ 'force-activation': 'true' })).toEqual([false, false, true])
    expect(switchesOf({ paused: 'false', 'paused-scale-in': 'true' })).toEqual([false, true, false])
  })

  test.each(['0', 'f', 'F', 'false', 'False', 'FALSE'])('%s is false, as in KEDA', (value) => {
    expect(switchesOf({ paused: value, 'paused-scale-in': value, 'paused-scale-out': value })).toEqual([
      false,
      false,
      false,
    ])
  })

  test.each(['1', 't', 'T', 'true', 'True', 'TRUE', '', 'yes', 'no', 'fALSE'])(
    '"%s" is true, as in KEDA',
    (value) => expect(switchesOf({ paused: value })).toEqual([true, true, false]),
  )

  test.each(['4', '0', '', 'four'])('`paused-replicas` pauses with the value "%s"', (value) => {
    expect(switchesOf({ 'paused-replicas': value, paused: 'false' })).toEqual([true, true, false])
  })
})

test('a Deployment without a number of replicas can be read', () => {
  expect(Deployment.parse({ metadata: { name: 'a', uid: '1' }, spec: {} }).spec.replicas).toBeUndefined()
})
