import type { ModelLoad, PodView, PoolSpec, PoolState } from '#apps/scaler/decide/types.ts'

export function toSpec(fields: Partial<PoolSpec> = {}): PoolSpec {
  return {
    pool: 'pool',
    model: 'model',
    gpuClass: null,
    gpus: 1,
    min: 0,
    max: 100,
    floors: [],
    priority: 50,
    order: 1,
    slots: 32,
    targetWaitMs: 60_000,
    utilization: 0.8,
    idleMs: 900_000,
    downWindowMs: 300_000,
    startMs: 180_000,
    spot: false,
    ...fields,
  }
}

/** At rest, with nothing known of its generations. */
export function toLoad(fields: Partial<ModelLoad> = {}): ModelLoad {
  return {
    freshPerS: 0,
    waiting: 0,
    waitingTokens: 0,
    running: 0,
    meanServiceMs: null,
    meanOutputTokens: null,
    decodePerReplica: null,
    prefillPerReplica: null,
    slotsPerReplica: null,
    unserved: false,
    idleForMs: 0,
    ...fields,
  }
}

/** A ready pod whose uid is its name. */
export function toPod(name: string, fields: Partial<PodView> = {}): PodView {
  return {
    name,
    uid: name,
    pool: 'pool',
    phase: 'ready',
    running: 0,
    cordonTerm: null,
    idleReports: 0,
    sincePhaseMs: 0,
    disrupted: false,
    operatorCordoned: false,
    deletionCost: null,
    ...fields,
  }
}

/** That many ready pods, named a, b, c and so on; each runs one generation more than the one before. */
export function toPods(count: number): PodView[] {
  return Array.from({ length: count }, (_, index) =>
    toPod(String.fromCodePoint(97 + index), { running: index + 1 }),
  )
}

/** A pool whose window has been whole for long. */
export function toState(target: number, fields: Partial<PoolState> = {}): PoolState {
  return {
    target,
    cordoned: [],
    released: [],
    window: [],
    windowSinceMs: 0,
    lastDownMs: null,
    unplannedRemovals: 0,
    ...fields,
  }
}
