import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import type { WorkerPhase } from '#libs/contracts/model-state.ts'
import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import { publishSignal } from '#libs/event-bus/scaling-signals.ts'
import { subscribeControl } from '#libs/event-bus/worker-control.ts'
import { toBeat } from '../../support/heartbeats.ts'
import { startKubernetesApi, type ClusterObject } from '../../support/kubernetes-api.ts'

export const NAMESPACE = 'lab'
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
export const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
const SCALED_OBJECTS = `/apis/keda.sh/v1alpha1/namespaces/${NAMESPACE}/scaledobjects`
const COST = 'controller.kubernetes.io/pod-deletion-cost'

const log = pino({ level: 'silent' })

/** A worker, reduced to its part in scaling: it sends heartbeats and obeys cordons. */
export type FakeWorker = {
  readonly pod: string
  phase: WorkerPhase
  running: number
  /** The leadership terms of the cordons that have arrived. */
  readonly terms: number[]
  /** If false, the worker ignores cordons, like an older release. */
  obeys: boolean
  stop(): Promise<void>
}

export type FakeCluster = {
  readonly url: string
  readonly api: Awaited<ReturnType<typeof startKubernetesApi>>
  addPool(pool: { name: string; model: string; replicas: number }): void
  replicas(pool: string): number
  /** Sets the replicas as HPA and KEDA do. Pods are created or deleted at once, in the order of a ReplicaSet. */
  scale(pool: string, replicas: number): void
  pods(pool: string): ClusterObject[]
  workers(pool: string): FakeWorker[]
  pause(pool: string, isPaused: boolean): void
  /** The deleted pods, with the number of generations that their workers ran at that moment. */
  readonly deleted: { pod: string; running: number }[]
  close(): Promise<void>
}

/** The interval of reports. Real workers report each second; the shorter interval keeps the tests short. */
const REPORT_MS = 250

/**
 * Starts the API server, the controllers and the workers of a cluster in this process. The workers use the real bus.
 */
export async function startFakeCluster(redisUrl: string): Promise<FakeCluster> {
  const api = await startKubernetesApi([PODS, DEPLOYMENTS, SCALED_OBJECTS])
  const models = new Map<string, string>()
  const workers = new Map<string, FakeWorker>()
  const deleted: { pod: string; running: number }[] = []
  const starting = new Set<Promise<void>>()
  const poolOf = (object: ClusterObject) => object.metadata.labels?.['millrace/pool'] ?? ''
  const podsOf = (pool: string) => api.all(PODS).filter((pod) => poolOf(pod) === pool)
  const replicasOf = (pool: string) => Number(Object(api.find(DEPLOYMENTS, pool)?.['spec']).replicas ?? 0)

  async function createPod(pool: string) {
    const name = `${pool}-${randomUUID().slice(0, 8)}`
    const metadata = { name, labels: { 'millrace/pool': pool }, creationTimestamp: new Date().toISOString() }
    const { uid } = api.put(PODS, { metadata, spec: { containers: [{ image: 'worker:1' }] } }).metadata
    const spec = { nodeName: 'gpu-0', containers: [{ image: 'worker:1' }] }
    api.put(PODS, { metadata, spec, status: { phase: 'Running', conditions: [] } })
    const worker = await startFakeWorker(redisUrl, { name, uid, pool, model: models.get(pool) ?? pool })
    workers.set(name, worker)
  }

  function deletePod(pod: ClusterObject) {
    const { name } = pod.metadata
    deleted.push({ pod: name, running: workers.get(name)?.running ?? 0 })
    void workers.get(name)?.stop()
    workers.delete(name)
    api.remove(PODS, name)
  }

  function scale(pool: string, replicas: number) {
    const deployment = api.find(DEPLOYMENTS, pool)
    api.put(DEPLOYMENTS, { ...deployment, metadata: { name: pool }, spec: { replicas } })
    const pods = podsOf(pool)
    const cost = (pod: ClusterObject) => Number(pod.metadata.annotations?.[COST] ?? 0)
    for (let index = pods.length; index < replicas; index += 1) starting.add(createPod(pool))
    for (const pod of pods
      .toSorted((a, b) => cost(a) - cost(b))
      .slice(0, Math.max(0, pods.length - replicas))) {
      deletePod(pod)
    }
  }

  return {
    url: api.url,
    api,
    addPool({ name, model, replicas }) {
      models.set(name, model)
      api.put(SCALED_OBJECTS, { metadata: { name } })
      scale(name, replicas)
    },
    replicas: replicasOf,
    scale,
    pods: podsOf,
    workers: (pool) => podsOf(pool).flatMap(({ metadata }) => workers.get(metadata.name) ?? []),
    pause(name, isPaused) {
      const annotations = isPaused ? { 'autoscaling.keda.sh/paused': 'true' } : {}
      api.put(SCALED_OBJECTS, { metadata: { name, annotations } })
    },
    deleted,
    async close() {
      await Promise.all(starting)
      await Promise.all([...workers.values()].map(async (worker) => await worker.stop()))
      await api.close()
    },
  }
}

async function startFakeWorker(
  redisUrl: string,
  pod: { name: string; uid: string; pool: string; model: string },
): Promise<FakeWorker> {
  const id = randomUUID()
  const [redis, subscriber] = [new Redis(redisUrl), new Redis(redisUrl)]
  for (const connection of [redis, subscriber]) connection.on('error', () => {})
  let cordon: { term: number | null; untilMs: number } | null = null
  const worker: FakeWorker = {
    pod: pod.name,
    phase: 'ready',
    running: 0,
    terms: [],
    obeys: true,
    async stop() {
      clearInterval(timer)
      redis.disconnect()
      subscriber.disconnect()
    },
  }

  function report() {
    if (cordon !== null && performance.now() > cordon.untilMs) cordon = null
    const phase = cordon !== null && worker.phase === 'ready' ? 'cordoned' : worker.phase
    const { name, uid: podUid, pool, model } = pod
    const cordonTerm = cordon?.term ?? null
    const beat = toBeat(
      { id, name, podUid, node: 'gpu-0', pool, cordonTerm },
      { model, phase, slots: 10, running: worker.running, meanGenerationMs: 10_000 },
    )
    void publishSignal({ redis, log }, WORKER_BEATS, beat)
  }

  const timer = setInterval(report, REPORT_MS)
  await subscribeControl({
    subscriber,
    worker: id,
    log,
    isHeld: async () => await Promise.resolve(true),
    onStop() {},
    onResend() {},
    onAsk() {},
    onAcknowledge() {},
    onVectorsTaken() {},
    onHold() {},
    onLook() {},
    onCount() {},
    onDrain() {},
    onCordon(term, forMs) {
      if (term !== null) worker.terms.push(term)
      if (worker.obeys) cordon = { term, untilMs: performance.now() + (forMs ?? Infinity) }
    },
    onUncordon() {
      cordon = null
    },
  })
  report()
  return worker
}
