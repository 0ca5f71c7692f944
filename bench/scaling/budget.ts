import { decideRound, type DecideState, type PoolChange } from '#apps/scaler/decide/decide-round.ts'
import { NO_SWITCHES } from '#apps/scaler/decide/keda-switches.ts'
import { NO_BUDGET_STATE, type ModelLoad, type PodView, type PoolSpec } from '#apps/scaler/decide/types.ts'
import { HPA_PERIOD_S } from './kubernetes.ts'
import { createRandom, type Random } from './random.ts'

const CLASS = 'h100'
const GPUS = 16
const SECONDS = 7200

/**
 * In seconds: how long the longest generation takes, how long the processes of an empty pod take to end, and how long a
 * pod takes to start.
 */
const LONGEST_GENERATION_S = 60
const TERMINATION_S = 10
const START_S = 120

const HIGHEST = 90

/** The time between two changes of each model's need, in seconds. */
const CHANGE_S = 240

type SimulatedPod = {
  readonly name: string
  readonly readyS: number
  isCordoned: boolean
  cordonedS: number | null
  /** The time until which a cordoned pod runs a generation. */
  busyUntilS: number
  idleReports: number
  deletionCost: number | null
  goneS: number | null
}

type Pool = { readonly spec: PoolSpec; readonly pods: Set<SimulatedPod>; need: number }

export type BudgetOutcome = {
  /** Seconds in which the pods, including pods that are being deleted, had more GPUs than the budget. */
  readonly overS: number
  /** Seconds in which a pool had fewer replicas than its minimum, after its start. */
  readonly underMinS: number
  readonly removed: number
  readonly removedBusy: number
  /**
   * The periods in which the pool with the highest priority had to wait for pools of lower priority to give GPUs back.
   * A period that has not ended when the needs change is left out.
   * - `unmetS` is the time from the moment at which that pool needed more pods until the last missing pod was ordered.
   * - `drainS` is the longest time that a pod cordoned in this period took to end its last generation and its
   *   processes. The pods of all pools count. The wait for the next check of the HPA is not included.
   */
  readonly shortages: readonly { readonly unmetS: number; readonly drainS: number }[]
}

/**
 * Simulates two hours of three models with different priorities and random needs, on 16 GPUs. The scaler's own code
 * (`decideRound`) makes the decisions.
 */
export function simulateBudget(seed: number): BudgetOutcome {
  const random = createRandom(seed * 104_729 + 7)
  const pools = [
    createPool({ pool: 'high', priority: HIGHEST, gpus: 2, min: 1, max: 6 }),
    createPool({ pool: 'middle', priority: 50, gpus: 1, min: 1, max: 12 }),
    createPool({ pool: 'low', priority: 10, gpus: 1, min: 1, max: 16 }),
  ]
  const outcome = { overS: 0, underMinS: 0, removed: 0, removedBusy: 0 }
  const shortages: { unmetS: number; drainS: number }[] = []
  let state: DecideState = { pools: {}, budget: NO_BUDGET_STATE }
  let shortage: { needS: number; drainS: number } | null = null
  let created = 0

  function setReplicas(pool: Pool, replicas: number, nowS: number): void {
    const alive = [...pool.pods].filter(({ goneS }) => goneS === null)
    for (let count = alive.length; count < replicas; count += 1) {
      created += 1
      pool.pods.add(createPod(`${pool.spec.pool}-${created}`, nowS))
    }
    const order = alive.toSorted(
      (a, b) =>
        Number(a.readyS <= nowS) - Number(b.readyS <= nowS) || (a.deletionCost ?? 0) - (b.deletionCost ?? 0),
    )
    for (const pod of order.slice(0, Math.max(0, alive.length - replicas))) {
      outcome.removed += 1
      if (isBusy(pod, nowS)) outcome.removedBusy += 1
      pod.goneS = Math.max(nowS, isBusy(pod, nowS) ? pod.busyUntilS : 0) + TERMINATION_S
    }
  }

  for (let nowS = 0; nowS < SECONDS; nowS += 1) {
    for (const pool of pools) {
      if (nowS % CHANGE_S === 0) pool.need = Math.floor(random.uniform() * (pool.spec.max + 1))
      for (const pod of pool.pods) if (pod.goneS !== null && pod.goneS <= nowS) pool.pods.delete(pod)
    }
    const round = decideRound({
      models: pools.map((pool) => toModel(pool, nowS)),
      budget: { [CLASS]: GPUS },
      state,
      hpaTolerance: 0,
      nowMs: nowS * 1000,
    })
    state = round.state
    for (const [index, pool] of pools.entries()) {
      const change = round.changes.get(pool.spec.pool)
      if (change === undefined) continue
      obey(pool, change, { nowS, random })
      // The HPAs check one after another.
      if ((nowS + 5 * index) % HPA_PERIOD_S === 0) setReplicas(pool, change.target, nowS)
      if (nowS >= HPA_PERIOD_S && aliveOf(pool) < pool.spec.min) outcome.underMinS += 1
    }
    if (pools.reduce((sum, { spec, pods }) => sum + pods.size * spec.gpus, 0) > GPUS) outcome.overS += 1
    const isShort = pools.some(({ spec, need }) => {
      const target = round.changes.get(spec.pool)?.target ?? 0
      return spec.priority === HIGHEST && target < Math.max(spec.min, need)
    })
    if (shortage !== null && (!isShort || nowS % CHANGE_S === 0)) {
      if (!isShort) shortages.push({ unmetS: nowS - shortage.needS, drainS: shortage.drainS })
      shortage = null
    }
    if (isShort) {
      shortage ??= { needS: nowS, drainS: 0 }
      for (const pod of pools.flatMap(({ pods }) => [...pods])) {
        if (pod.cordonedS === nowS)
          shortage.drainS = Math.max(shortage.drainS, Math.max(0, pod.busyUntilS - nowS) + TERMINATION_S)
      }
    }
  }
  return { ...outcome, shortages }
}

function createPool(spec: Pick<PoolSpec, 'pool' | 'priority' | 'gpus' | 'min' | 'max'>): Pool {
  return {
    need: 0,
    pods: new Set(),
    spec: {
      ...spec,
      model: spec.pool,
      gpuClass: CLASS,
      floors: [],
      order: 1,
      // Each pod has one slot, which may be busy all the time. The mean service time is one second (`toModel`). So the
      // need in replicas is equal to the rate of requests per second.
      slots: 1,
      utilization: 1,
      targetWaitMs: 60_000,
      idleMs: 900_000,
      downWindowMs: 300_000,
      startMs: START_S * 1000,
      spot: false,
    },
  }
}

function createPod(name: string, nowS: number): SimulatedPod {
  return {
    name,
    readyS: nowS + START_S,
    isCordoned: false,
    cordonedS: null,
    busyUntilS: Infinity,
    idleReports: 0,
    deletionCost: null,
    goneS: null,
  }
}

function toModel(pool: Pool, nowS: number) {
  const load: ModelLoad = {
    freshPerS: pool.need,
    waiting: 0,
    waitingTokens: 0,
    running: 0,
    meanServiceMs: 1000,
    meanOutputTokens: null,
    decodePerReplica: null,
    prefillPerReplica: null,
    slotsPerReplica: 1,
    unserved: false,
    idleForMs: 0,
  }
  const pods = [...pool.pods].map((pod) => toView(pool, pod, nowS))
  return { model: pool.spec.model, load, pools: [{ spec: pool.spec, pods, switches: NO_SWITCHES }] }
}

function toView({ spec }: Pool, pod: SimulatedPod, nowS: number): PodView {
  const isLoading = pod.readyS > nowS
  const running = isBusy(pod, nowS) ? 1 : 0
  pod.idleReports = pod.isCordoned && running === 0 ? pod.idleReports + 1 : 0
  return {
    name: pod.name,
    uid: pod.name,
    pool: spec.pool,
    phase: pod.goneS !== null ? 'deleting' : isLoading ? 'loading' : pod.isCordoned ? 'cordoned' : 'ready',
    running,
    cordonTerm: pod.isCordoned ? 1 : null,
    idleReports: pod.idleReports,
    sincePhaseMs: 0,
    disrupted: false,
    operatorCordoned: false,
    deletionCost: pod.deletionCost,
  }
}

/**
 * Returns true if the pod runs a generation. A serving pod always runs one, until it is cordoned and its last
 * generation has ended.
 */
function isBusy(pod: SimulatedPod, nowS: number): boolean {
  return pod.readyS <= nowS && pod.busyUntilS > nowS
}

function obey(
  pool: Pool,
  change: PoolChange,
  { nowS, random }: { readonly nowS: number; readonly random: Random },
): void {
  for (const pod of pool.pods) {
    if (change.release.includes(pod.name)) pod.deletionCost = -1000
    if (change.cordon.includes(pod.name) && !pod.isCordoned) {
      pod.isCordoned = true
      pod.cordonedS = nowS
      // A pod that is cordoned while it loads never runs anything.
      pod.busyUntilS = pod.readyS > nowS ? 0 : nowS + random.uniform() * LONGEST_GENERATION_S
    }
    if (change.uncordon.includes(pod.name)) {
      pod.isCordoned = false
      pod.deletionCost = null
      pod.busyUntilS = Infinity
    }
  }
}

function aliveOf({ pods }: Pool): number {
  return [...pods].filter(({ goneS }) => goneS === null).length
}
