import { decideRound, type DecideState, type PoolChange } from '#apps/scaler/decide/decide-round.ts'
import { NO_SWITCHES } from '#apps/scaler/decide/keda-switches.ts'
import { NO_BUDGET_STATE, type PodView, type PoolSpec } from '#apps/scaler/decide/types.ts'
import { toLoad, toPod, toSpec } from './fixtures.ts'

export type HistoryStep = {
  readonly seconds: number
  /** The number of replicas that the load of each model needs. */
  readonly needs: readonly number[]
  /** If true, the HPA reads its metric in this step. */
  readonly syncs: boolean
  /**
   * Numbers below 1, used for the pods in turn. They decide how busy a pod is, whether it becomes ready, and whether it
   * is gone.
   */
  readonly fates: readonly number[]
}

/** The window is short, so that a history of some minutes has several windows. */
const WINDOW_MS = 20_000

const HISTORY_BUDGET = 12

/** A pool of high priority with two GPUs a replica, and a pool of low priority with one. */
const SPECS: readonly PoolSpec[] = [
  toHistorySpec({ pool: 'high', priority: 90, gpus: 2, min: 0, max: 5 }),
  toHistorySpec({ pool: 'low', priority: 10, gpus: 1, min: 1, max: 10 }),
]

/**
 * Runs the rounds of two pools with one budget against a small model of Kubernetes: pods load, serve, obey cordons, and
 * are deleted in the order of a ReplicaSet. Returns the broken rules, in words. One rule is that no pod may be deleted
 * while it runs something, because nothing is evicted here.
 */
export function runHistory(steps: readonly HistoryStep[]): string[] {
  const faults: string[] = []
  const worlds = SPECS.map((spec) => ({ spec, pods: new Map<string, PodView>() }))
  const trails = new Map(SPECS.map(({ pool }) => [pool, createTrail()]))
  let state: DecideState = { pools: {}, budget: NO_BUDGET_STATE }
  let nowMs = 0
  let created = 0

  for (const { seconds, needs, syncs, fates } of steps) {
    nowMs += seconds * 1000
    for (const { pods } of worlds) live(pods, fates)
    const models = worlds.map(({ spec, pods }, index) => ({
      model: spec.model,
      load: toLoad({ freshPerS: needs[index] ?? 0, meanServiceMs: 1000 }),
      pools: [{ spec, pods: [...pods.values()], switches: NO_SWITCHES }],
    }))
    const round = decideRound({ models, budget: { h100: HISTORY_BUDGET }, state, hpaTolerance: 0, nowMs })
    // Copies the state, as a snapshot does.
    state = { pools: structuredClone(round.state.pools), budget: structuredClone(round.state.budget) }
    for (const { spec, pods } of worlds) {
      const change = round.changes.get(spec.pool)
      if (change === undefined) return [`${spec.pool} was not decided`]
      faults.push(...(trails.get(spec.pool)?.(change, nowMs) ?? []))
      if (!change.isActive && (change.target > 0 || alive(pods).length > 1)) faults.push('inactive with pods')
      obey(pods, change)
      if (!syncs) continue
      const { added, removed } = toReplicas(pods, change.target)
      for (let count = 0; count < added; count += 1) {
        created += 1
        const name = `${spec.pool}-${created}`
        pods.set(name, toPod(name, { pool: spec.pool, phase: 'unscheduled' }))
      }
      for (const pod of removed) {
        if (pod.running > 0) faults.push(`${pod.name} was deleted with ${pod.running} running`)
        pods.set(pod.name, { ...pod, phase: 'deleting' })
      }
    }
    const gpus = worlds.reduce((sum, { spec, pods }) => sum + pods.size * spec.gpus, 0)
    if (gpus > HISTORY_BUDGET) faults.push(`${gpus} GPUs`)
  }
  return faults
}

function toHistorySpec(fields: Partial<PoolSpec> & { readonly pool: string }): PoolSpec {
  const one = { slots: 1, utilization: 1, gpuClass: 'h100', downWindowMs: WINDOW_MS }
  return toSpec({ ...one, ...fields, model: fields.pool })
}

/**
 * Checks one pool's changes: the number of serving pods may not fall below the highest number that was wanted within
 * the window, except because of the budget.
 */
function createTrail(): (change: PoolChange, nowMs: number) => string[] {
  const wants: [number, number][] = []
  let before = 0
  return (change, nowMs) => {
    const { state, reason, want, given } = change
    const open =
      state.target -
      state.cordoned.length -
      state.released.filter(({ loweredMs }) => loweredMs === null).length
    wants.push([nowMs, want])
    const most = Math.max(...wants.filter(([ms]) => nowMs - ms <= WINDOW_MS).map(([, replicas]) => replicas))
    const faults: string[] = []
    if (open < before && open < Math.min(before, most) && reason !== 'reclaim')
      faults.push(`${open} serve after ${before}, though ${most} were wanted within the window (${reason})`)
    if (open < Math.min(want, given, before))
      faults.push(`${open} serve of ${want} wanted and ${given} given`)
    before = open
    return faults
  }
}

function live(pods: Map<string, PodView>, fates: readonly number[]): void {
  let index = 0
  for (const [name, pod] of pods) {
    const fate = fates[index % fates.length] ?? 0
    index += 1
    if (pod.phase === 'deleting') {
      if (fate < 0.5) pods.delete(name)
    } else pods.set(name, age(pod, fate))
  }
}

function age(pod: PodView, fate: number): PodView {
  if (pod.phase === 'unscheduled') return fate < 0.5 ? { ...pod, phase: 'loading' } : pod
  if (pod.phase === 'loading' && fate >= 0.5) return pod
  const isCordoned = pod.cordonTerm !== null
  // A cordoned pod ends one generation now and then, so that it is still busy after some rounds.
  const running = isCordoned ? Math.max(0, pod.running - Number(fate < 0.3)) : Math.floor(fate * 4)
  const idleReports = isCordoned && running === 0 ? pod.idleReports + 1 : 0
  return { ...pod, phase: isCordoned ? 'cordoned' : 'ready', running, idleReports }
}

function obey(pods: Map<string, PodView>, { cordon, uncordon, release }: PoolChange): void {
  for (const [name, pod] of pods) {
    if (cordon.includes(name)) pods.set(name, { ...pod, cordonTerm: 1 })
    if (uncordon.includes(name)) pods.set(name, { ...pod, cordonTerm: null, deletionCost: null })
    if (release.includes(name)) pods.set(name, { ...pod, cordonTerm: 1, deletionCost: -1000 })
  }
}

/**
 * Adds or deletes pods as a ReplicaSet does. It first deletes pods without a node, then pods that are not ready, then
 * by deletion cost, then the newest.
 */
function toReplicas(pods: Map<string, PodView>, replicas: number): { added: number; removed: PodView[] } {
  const living = alive(pods)
  const rank = ({ phase }: PodView) => ['unscheduled', 'loading'].indexOf(phase)
  const order = living
    .toReversed()
    .toSorted(
      (a, b) =>
        (rank(a) === -1 ? 2 : rank(a)) - (rank(b) === -1 ? 2 : rank(b)) ||
        (a.deletionCost ?? 0) - (b.deletionCost ?? 0),
    )
  return {
    added: Math.max(0, replicas - living.length),
    removed: order.slice(0, Math.max(0, living.length - replicas)),
  }
}

function alive(pods: Map<string, PodView>): PodView[] {
  return [...pods.values()].filter(({ phase }) => phase !== 'deleting')
}
