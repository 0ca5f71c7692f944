import { pino } from 'pino'
import { z } from 'zod'
import { followObjects, ObjectMeta } from '#libs/kubernetes/follow-objects.ts'
import type { KubernetesClient } from '#libs/kubernetes/kubernetes-client.ts'

const Condition = z.object({ type: z.string(), status: z.string() })

/** The fields of a pod that the tests read. */
const WatchedPod = z.object({
  metadata: ObjectMeta,
  spec: z.object({ nodeName: z.string().optional() }),
  status: z.object({ conditions: z.array(Condition).default([]) }).default({ conditions: [] }),
})
export type WatchedPod = z.infer<typeof WatchedPod>

const WatchedDeployment = z.object({
  metadata: ObjectMeta,
  spec: z.object({ replicas: z.int().default(1) }),
  status: z.object({ readyReplicas: z.int().default(0) }).default({ readyReplicas: 0 }),
})

/** A change of a Deployment's `spec.replicas`. */
export type Rescale = {
  readonly deployment: string
  readonly from: number
  readonly to: number
  readonly atMs: number
}

export type ClusterWatch = {
  /** Returns the pods of the given pool, or of all pools. */
  pods(pool?: string): WatchedPod[]
  /** Returns the replicas that the Deployment asks for; null if there is no such Deployment. */
  replicas(deployment: string): number | null
  ready(deployment: string): number
  /** All changes since the start, in order. Their times are values of `performance.now()`. */
  readonly rescales: readonly Rescale[]
  stop(): Promise<void>
}

export const poolOf = ({ metadata }: WatchedPod): string => metadata.labels['millrace/pool'] ?? ''
export const isReady = ({ status }: WatchedPod): boolean =>
  status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')

/** Follows a namespace's worker pods and its Deployments. */
export function watchNamespace(options: {
  client: KubernetesClient
  namespace: string
  onPods: (pods: ReadonlyMap<string, WatchedPod>) => void
}): ClusterWatch {
  const { client, namespace, onPods } = options
  const log = pino({ level: 'silent' })
  const nowMs = () => performance.now()
  const rescales: Rescale[] = []
  const replicas = new Map<string, number>()
  const pods = followObjects({
    client,
    path: `/api/v1/namespaces/${namespace}/pods`,
    labelSelector: 'millrace/pool',
    schema: WatchedPod,
    onChange: () => onPods(pods.current()),
    nowMs,
    log,
  })
  const deployments = followObjects({
    client,
    path: `/apis/apps/v1/namespaces/${namespace}/deployments`,
    schema: WatchedDeployment,
    onChange: noteRescales,
    nowMs,
    log,
  })
  const find = (name: string) =>
    [...deployments.current().values()].find(({ metadata }) => metadata.name === name)

  function noteRescales() {
    for (const { metadata, spec } of deployments.current().values()) {
      const before = replicas.get(metadata.name)
      replicas.set(metadata.name, spec.replicas)
      if (before === undefined || before === spec.replicas) continue
      rescales.push({ deployment: metadata.name, from: before, to: spec.replicas, atMs: nowMs() })
    }
  }

  return {
    pods: (pool) => [...pods.current().values()].filter((pod) => pool === undefined || poolOf(pod) === pool),
    replicas: (name) => find(name)?.spec.replicas ?? null,
    ready: (name) => find(name)?.status.readyReplicas ?? 0,
    rescales,
    stop: async () => void (await Promise.all([pods.stop(), deployments.stop()])),
  }
}
