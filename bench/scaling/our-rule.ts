import { decideRound, type DecideState } from '#apps/scaler/decide/decide-round.ts'
import { NO_SWITCHES } from '#apps/scaler/decide/keda-switches.ts'
import type { Demand } from '#libs/event-bus/scaling-signals.ts'
import { NO_BUDGET_STATE, type ModelLoad, type PodView, type PoolSpec } from '#apps/scaler/decide/types.ts'
import { createDemandReader } from '#apps/scaler/signals/read-demand.ts'
import { SLOTS, type Fleet, type Pod } from './fleet.ts'
import { HPA_PERIOD_S, setReplicas } from './kubernetes.ts'
import type { Scaling, Signals } from './simulate.ts'

const MODEL = 'model'

const SPEC: PoolSpec = {
  pool: 'pool',
  model: MODEL,
  gpuClass: null,
  gpus: 1,
  min: 0,
  max: 200,
  floors: [],
  priority: 50,
  order: 1,
  slots: SLOTS,
  targetWaitMs: 60_000,
  utilization: 0.8,
  idleMs: 900_000,
  downWindowMs: 300_000,
  startMs: 180_000,
  spot: false,
}

/** The scaler's own decisions. The workers obey a cordon a second later; KEDA and the HPA set the number of pods. */
export function createOurRule(spec: Partial<PoolSpec> = {}): Scaling {
  const pool = { ...SPEC, ...spec }
  let nowMs = 0
  const demand = createDemandReader({ nowMs: () => nowMs, onUnserved: () => {} })
  let state: DecideState = { pools: {}, budget: NO_BUDGET_STATE }
  let restS = 0

  return {
    act(signals, fleet) {
      const { nowS } = signals
      nowMs = nowS * 1000
      demand.receive(toDemand(signals))
      const { freshPerS, unserved, offeredAgoMs } = demand.load(MODEL)
      const isAtRest = signals.waiting === 0 && signals.running === 0 && offeredAgoMs !== 0
      restS = isAtRest ? restS + 1 : 0
      const load = toLoad(signals, { freshPerS, unserved, idleForMs: restS * 1000 })
      const pods = [...fleet.pods].map((pod) => toView(pod, nowS))
      const models = [{ model: MODEL, load, pools: [{ spec: pool, pods, switches: NO_SWITCHES }] }]
      const round = decideRound({ models, budget: {}, state, hpaTolerance: 0, nowMs })
      state = round.state
      const change = round.changes.get(pool.pool)
      if (change === undefined) return
      obey(fleet, change)
      const replicas = fleet.alive().length
      if (nowS % HPA_PERIOD_S === 0 && (change.target > 0 || !change.isActive))
        setReplicas(fleet, change.target, nowS)
      else if (replicas === 0 && change.target > 0) setReplicas(fleet, 1, nowS)
    },
  }
}

/** Returns the message that the one gateway sends each second. */
function toDemand(signals: Signals): Demand {
  const { fresh, repeated, busy, unserved, nowS, unservedS } = signals
  const ms = unservedS === null ? null : (nowS - unservedS) * 1000
  const unservedAgoMs = ms !== null && ms < 60_000 ? ms : null
  const model = { fresh, repeated, refused: busy + unserved, unserved, waitingTokens: 0, unservedAgoMs }
  const models = { [MODEL]: model }
  return { id: 'gateway', openStreams: 0, loopDelayMs: 0, models }
}

function toLoad(signals: Signals, now: Pick<ModelLoad, 'freshPerS' | 'unserved' | 'idleForMs'>): ModelLoad {
  return {
    ...now,
    waiting: signals.waiting,
    waitingTokens: 0,
    running: signals.running,
    meanServiceMs: signals.meanServiceS * 1000,
    meanOutputTokens: null,
    decodePerReplica: null,
    prefillPerReplica: null,
    slotsPerReplica: SLOTS,
  }
}

function toView(pod: Pod, nowS: number): PodView {
  const isLoading = pod.readyS > nowS
  if (pod.isCordoned && !isLoading && pod.running === 0) pod.idleReports += 1
  else pod.idleReports = 0
  return {
    name: pod.name,
    uid: pod.name,
    pool: SPEC.pool,
    phase: pod.isDeleting ? 'deleting' : isLoading ? 'loading' : pod.isCordoned ? 'cordoned' : 'ready',
    running: pod.running,
    cordonTerm: pod.isCordoned ? 1 : null,
    idleReports: pod.idleReports,
    sincePhaseMs: 0,
    disrupted: false,
    operatorCordoned: false,
    deletionCost: pod.deletionCost,
  }
}

/** Lets workers and Kubernetes carry out the decisions before the next second. */
function obey(
  fleet: Fleet,
  change: {
    readonly cordon: readonly string[]
    readonly uncordon: readonly string[]
    readonly release: readonly string[]
  },
): void {
  const [cordon, uncordon, release] = [
    new Set(change.cordon),
    new Set(change.uncordon),
    new Set(change.release),
  ]
  for (const pod of fleet.pods) {
    if (cordon.has(pod.name)) pod.isCordoned = true
    if (release.has(pod.name)) pod.deletionCost = -1000
    if (uncordon.has(pod.name)) {
      pod.isCordoned = false
      pod.deletionCost = null
    }
  }
}
