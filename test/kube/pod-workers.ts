import { Redis } from 'ioredis'
import { pino } from 'pino'
import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import { subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { startApp, type RunningApp } from '../support/processes.ts'
import { poolOf, type WatchedPod } from './watch-cluster.ts'

/** A pod that was deleted, with the last report of its worker; null without any. */
export type RemovedPod = {
  readonly pod: string
  readonly running: number | null
  readonly reportAgeMs: number | null
}

export type PodWorkers = {
  /** Follows the pods: a pod with a node gets a worker process; the worker of a deleted pod gets a SIGTERM. */
  follow(pods: ReadonlyMap<string, WatchedPod>): void
  readonly removed: readonly RemovedPod[]
  /** Returns how many worker processes were started. */
  started(): number
  /** Ends the remaining workers. Rejects if any worker did not start or did not exit with 0. */
  stop(): Promise<void>
}

/** Workers report each second. An older report does not show the state at the deletion. */
const FRESH_REPORT_MS = 2_000

/**
 * Takes the kubelet's part for the worker pods of one model, without containers. The worker of each pod is a process on
 * this machine, with the name, the uid and the node of its pod, and uses one of the engines. When a pod has ended, its
 * engine is free for the next pod.
 */
export async function startPodWorkers(options: {
  redisUrl: string
  model: string
  files: string
  maxNumSeqs: number
  /** The addresses of simulated engines: at least as many as there are pods at the same time, including ending ones. */
  engines: readonly string[]
  /** Called before the worker of a pod starts, with the address of its engine. */
  startEngine?: (engine: string) => Promise<void>
}): Promise<PodWorkers> {
  const { redisUrl, model, files, maxNumSeqs, startEngine = async () => undefined } = options
  const subscriber = new Redis(redisUrl)
  subscriber.on('error', () => {})
  const reports = new Map<string, { running: number; atMs: number }>()
  const engines = [...options.engines]
  const workers = new Map<string, { ended: Promise<void>; end: () => void }>()
  const removed: RemovedPod[] = []
  const failures: unknown[] = []
  let started = 0
  const nowMs = () => performance.now()

  await subscribeSignal(
    { subscriber, log: pino({ level: 'silent' }) },
    WORKER_BEATS,
    ({ podUid, engines }) => {
      if (podUid !== null) reports.set(podUid, { running: engines[0]?.running ?? 0, atMs: nowMs() })
    },
  )

  async function startWorker(pod: WatchedPod, engine: string): Promise<RunningApp> {
    const { metadata, spec } = pod
    return await startApp('worker', {
      QUEUE_REDIS_URL: redisUrl,
      BUS_REDIS_URL: redisUrl,
      WORKERS: JSON.stringify([{ model, files, engine, maxNumSeqs }]),
      WORKER_NAME: metadata.name,
      POD_UID: metadata.uid,
      NODE_NAME: spec.nodeName ?? '',
      POOL: poolOf(pod),
    })
  }

  /** Runs a worker from its start to its end. Afterwards its engine is free again. */
  async function run(pod: WatchedPod, isDeleted: Promise<void>): Promise<void> {
    const engine = engines.shift()
    if (engine === undefined) throw new Error(`no engine is left for pod ${pod.metadata.name}`)
    started += 1
    try {
      await startEngine(engine)
      const app = await startWorker(pod, engine)
      const exit = await Promise.race([app.exited, isDeleted])
      if (exit !== undefined) throw new Error(`the worker of ${pod.metadata.name} ended early: ${exit}`)
      app.signal('SIGTERM')
      const end = await app.exited
      if (end !== 'exit code 0') throw new Error(`the worker of ${pod.metadata.name}: ${end}`)
    } finally {
      engines.push(engine)
    }
  }

  function noteRemoval(pod: WatchedPod) {
    const report = reports.get(pod.metadata.uid)
    const reportAgeMs = report === undefined ? null : nowMs() - report.atMs
    removed.push({ pod: pod.metadata.name, running: report?.running ?? null, reportAgeMs })
  }

  function begin(pod: WatchedPod) {
    const deleted = Promise.withResolvers<void>()
    const ended = run(pod, deleted.promise).catch((error: unknown) => void failures.push(error))
    let isOver = false
    workers.set(pod.metadata.uid, {
      ended,
      end() {
        if (isOver) return
        isOver = true
        noteRemoval(pod)
        deleted.resolve()
      },
    })
  }

  return {
    follow(pods) {
      for (const [uid, worker] of workers) if (!pods.has(uid)) worker.end()
      for (const [uid, pod] of pods) {
        const isDeleted = pod.metadata.deletionTimestamp !== undefined
        if (isDeleted) workers.get(uid)?.end()
        else if (pod.spec.nodeName !== undefined && !workers.has(uid)) begin(pod)
      }
    },
    removed,
    started: () => started,
    async stop() {
      for (const worker of workers.values()) worker.end()
      await Promise.all([...workers.values()].map(async ({ ended }) => await ended))
      subscriber.disconnect()
      if (failures.length > 0) throw new AggregateError(failures, 'workers failed')
    },
  }
}

/** Returns whether the pod's worker ran a generation, or may have run one, when the pod was deleted. */
export function wasBusy({ running, reportAgeMs }: RemovedPod): boolean {
  return running === null || running > 0 || (reportAgeMs ?? Infinity) > FRESH_REPORT_MS
}
