import { z } from 'zod'
import { ObjectMeta } from '#libs/kubernetes/follow-objects.ts'
import type { KedaSwitches } from './decide/keda-switches.ts'
import type { PodPhase, PodView } from './decide/types.ts'
import type { CapacityReader } from './signals/read-capacity.ts'

/** The label of a worker's pod that names its pool. */
export const POOL_LABEL = 'millrace/pool'
export const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'

const Condition = z.object({
  type: z.string(),
  status: z.string(),
  lastTransitionTime: z.string().nullish(),
})
const Container = z.object({ image: z.string().default('') })

/** The fields of a pod that the scaler reads. */
export const Pod = z.object({
  metadata: ObjectMeta,
  spec: z.object({
    nodeName: z.string().optional(),
    containers: z.array(Container).default([]),
    initContainers: z.array(Container).default([]),
  }),
  status: z
    .object({ phase: z.string().optional(), conditions: z.array(Condition).default([]) })
    .default({ conditions: [] }),
})
export type Pod = z.infer<typeof Pod>

/** The fields of a Deployment that the scaler reads. */
export const Deployment = z.object({
  metadata: ObjectMeta,
  spec: z.object({ replicas: z.int().optional() }),
})
export type Deployment = z.infer<typeof Deployment>

/** The fields of a ScaledObject that the scaler reads. */
export const ScaledObject = z.object({ metadata: ObjectMeta })
export type ScaledObject = z.infer<typeof ScaledObject>

/**
 * Reads the switches of a ScaledObject as KEDA 2.21 does (`scaledobject_types.go`). The annotation `paused-replicas`
 * pauses KEDA, whatever its value is.
 */
export function toSwitches({ metadata: { annotations } }: ScaledObject): KedaSwitches {
  const isOn = (name: string) => toBoolean(annotations[`autoscaling.keda.sh/${name}`])
  const isPaused = annotations['autoscaling.keda.sh/paused-replicas'] !== undefined || isOn('paused')
  return {
    isOutPaused: isPaused || isOn('paused-scale-out'),
    isInPaused: isPaused || isOn('paused-scale-in'),
    isForcedActive: isOn('force-activation'),
  }
}

/** Parses a text as KEDA does: like Go's `strconv.ParseBool`, but a text that `ParseBool` rejects is true. */
function toBoolean(text: string | undefined): boolean {
  return text !== undefined && !['0', 'f', 'F', 'false', 'False', 'FALSE'].includes(text)
}

/** A pod whose phase changed. */
export type PhaseEnd = {
  readonly uid: string
  readonly pool: string
  readonly image: string
  readonly phase: PodPhase
  readonly ms: number
  readonly next: PodPhase
}

export type JoinedPods = {
  readonly byPool: ReadonlyMap<string, readonly PodView[]>
  /** Phases that ended since the last call. */
  readonly ended: readonly PhaseEnd[]
}

/**
 * Returns a function that joins the cluster's pods with their workers' reports and follows their phases. Failed and
 * completed pods are left out, because their Deployment has replaced them. `nowMs` and the times of the cluster are in
 * Unix ms. The cluster's times give the age of pods that are older than this process.
 */
export function createJoinPods(capacity: Pick<CapacityReader, 'ofPod' | 'knowsPod'>) {
  const phases = new Map<string, { phase: PodPhase; sinceMs: number }>()

  function follow(pod: Pod, phase: PodPhase, nowMs: number): { sinceMs: number; ended: PhaseEnd | null } {
    const { uid } = pod.metadata
    const before = phases.get(uid)
    if (before?.phase === phase) return { sinceMs: before.sinceMs, ended: null }
    const sinceMs = before === undefined ? firstSinceMs(pod, phase, nowMs) : nowMs
    phases.set(uid, { phase, sinceMs })
    if (before === undefined) return { sinceMs, ended: null }
    const ms = Math.max(0, nowMs - before.sinceMs)
    return {
      sinceMs,
      ended: { uid, pool: poolOf(pod), image: imageOf(pod), phase: before.phase, ms, next: phase },
    }
  }

  return (pods: Iterable<Pod>, nowMs: number): JoinedPods => {
    const byPool = new Map<string, PodView[]>()
    const ended: PhaseEnd[] = []
    const seen = new Set<string>()
    for (const pod of pods) {
      if (pod.status.phase === 'Failed' || pod.status.phase === 'Succeeded') continue
      const { name, uid } = pod.metadata
      seen.add(uid)
      const report = capacity.ofPod({ name, uid })
      const phase = phaseOf(pod, report?.engine.phase ?? null, capacity.knowsPod({ uid }))
      const followed = follow(pod, phase, nowMs)
      if (followed.ended !== null) ended.push(followed.ended)
      const term = report?.engine.cordonTerm ?? null
      const views = byPool.get(poolOf(pod)) ?? []
      byPool.set(poolOf(pod), views)
      views.push({
        name,
        uid,
        pool: poolOf(pod),
        phase,
        running: report?.engine.running ?? 0,
        cordonTerm: term,
        idleReports: report?.idleReports ?? 0,
        sincePhaseMs: Math.max(0, nowMs - followed.sinceMs),
        disrupted: hasCondition(pod, 'DisruptionTarget'),
        operatorCordoned: report?.engine.phase === 'cordoned' && term === null,
        deletionCost: deletionCost(pod),
      })
    }
    for (const uid of phases.keys()) if (!seen.has(uid)) phases.delete(uid)
    return { byPool, ended }
  }
}

/** Returns the images of a pod as one text. Start times are kept by image. */
function imageOf({ spec }: Pod): string {
  return [...spec.initContainers, ...spec.containers].map(({ image }) => image).join(' ')
}

const poolOf = ({ metadata }: Pod) => metadata.labels[POOL_LABEL] ?? ''

const hasCondition = (pod: Pod, type: string) =>
  pod.status.conditions.some((condition) => condition.type === type && condition.status === 'True')

/**
 * Returns the phase of a pod, by the first of these rules that applies:
 * - A pod with a deletion time is deleting, and a pod without a node is unscheduled.
 * - A pod whose worker reports is in the phase that the worker reports.
 * - A pod whose worker has never reported is loading until the kubelet finds the pod ready.
 * - Any other pod is silent: its worker has stopped reporting, or this scaler has just begun to listen.
 */
function phaseOf(pod: Pod, reported: PodPhase | null, isKnown: boolean): PodPhase {
  if (pod.metadata.deletionTimestamp !== undefined) return 'deleting'
  if (pod.spec.nodeName === undefined) return 'unscheduled'
  if (reported !== null) return reported
  return isKnown || hasCondition(pod, 'Ready') ? 'silent' : 'loading'
}

function firstSinceMs(pod: Pod, phase: PodPhase, nowMs: number): number {
  const scheduled = pod.status.conditions.find(({ type }) => type === 'PodScheduled')?.lastTransitionTime
  const text =
    phase === 'unscheduled' ? pod.metadata.creationTimestamp : phase === 'loading' ? scheduled : null
  const sinceMs = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(sinceMs) ? nowMs : Math.min(nowMs, sinceMs)
}

function deletionCost({ metadata }: Pod): number | null {
  const text = metadata.annotations[DELETION_COST]
  return text === undefined || !/^-?\d+$/.test(text) ? null : Number(text)
}
