import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import type { WorkerPhase } from '#libs/contracts/model-state.ts'
import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import { publishSignal } from '#libs/event-bus/scaling-signals.ts'
import { subscribeControl } from '#libs/event-bus/worker-control.ts'
import { waitingExpiryKey } from '#libs/queue-redis/keys.ts'
import { toBeat } from '../support/heartbeats.ts'
import { isReady, poolOf, type WatchedPod } from './watch-cluster.ts'

/**
 * A deleted pod, with the number of generations that its worker ran at that moment, and the number that it had last
 * reported.
 */
export type Deletion = {
  readonly pod: string
  readonly pool: string
  readonly running: number
  readonly reported: number | null
}

export type FakeWorkers = {
  /** Follows the pods: each pod with a node gets a worker. */
  follow(pods: ReadonlyMap<string, WatchedPod>): void
  /** Sets how many generations of the model run or wait from now on. Each generation that ends is replaced. */
  setLoad(model: string, generations: number): void
  running(model: string): number
  /** Returns how many workers of the model are ready and not cordoned. */
  ready(model: string): number
  cordoned(model: string): number
  readonly deletions: readonly Deletion[]
  stop(): Promise<void>
}

/** The same interval as a real worker's. */
const REPORT_MS = 1_000
const TICK_MS = 100
export const SLOTS = 10
/** Waiting generations expire long after the end of a test. */
const NO_EXPIRY_MS = 86_400_000

type Worker = {
  readonly id: string
  readonly pod: WatchedPod
  readonly model: string
  phase: WorkerPhase
  /** The time at which the worker has loaded; null until its pod is ready. */
  loadedAtMs: number | null
  cordon: { term: number | null; untilMs: number } | null
  /** The end of each running generation. */
  ends: number[]
  ended: number
  reported: number | null
  reportedAtMs: number
}

const log = pino({ level: 'silent' })
const modelOf = ({ metadata }: WatchedPod) => metadata.labels['millrace/model-key'] ?? ''

/**
 * Starts workers in this process, with the real Redis. They do only the work that scaling can see: they send
 * heartbeats, obey cordons, and pull generations when they have free slots. A worker loads after its pod is
 * ready, and drains once the pod is deleted.
 */
export async function startFakeWorkers(options: {
  queueUrl: string
  busUrl: string
  /** The mean time of a generation. Each takes between half and one and a half times as long. */
  generationMs: number
  /** Returns how long a worker of the model loads after its pod is ready. */
  loadMs: (model: string) => number
}): Promise<FakeWorkers> {
  const { queueUrl, busUrl, generationMs, loadMs } = options
  const [queue, bus, subscriber] = [new Redis(queueUrl), new Redis(busUrl), new Redis(busUrl)]
  subscriber.setMaxListeners(0)
  for (const connection of [queue, bus, subscriber]) connection.on('error', () => {})
  const workers = new Map<string, Worker>()
  const loads = new Map<string, { wanted: number; waiting: string[] }>()
  const deletions: Deletion[] = []
  const nowMs = () => performance.now()

  function phaseOf(worker: Worker): WorkerPhase {
    if (worker.cordon !== null && nowMs() > worker.cordon.untilMs) worker.cordon = null
    return worker.phase === 'ready' && worker.cordon !== null ? 'cordoned' : worker.phase
  }

  function start(pod: WatchedPod) {
    const worker: Worker = {
      id: randomUUID(),
      pod,
      model: modelOf(pod),
      phase: 'loading',
      loadedAtMs: null,
      cordon: null,
      ends: [],
      ended: 0,
      reported: null,
      reportedAtMs: -Infinity,
    }
    workers.set(pod.metadata.uid, worker)
    void subscribeControl({
      subscriber,
      worker: worker.id,
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
        worker.cordon = { term, untilMs: nowMs() + (forMs ?? Infinity) }
      },
      onUncordon() {
        worker.cordon = null
      },
    }).catch(() => {})
    return worker
  }

  function becomeReady(worker: Worker) {
    if (worker.phase !== 'loading' || worker.loadedAtMs === null || worker.loadedAtMs > nowMs()) return
    worker.phase = 'ready'
    report(worker)
  }

  function noteDeletion(worker: Worker) {
    if (worker.phase === 'draining') return
    const { metadata } = worker.pod
    const deletion = { pod: metadata.name, pool: poolOf(worker.pod), running: worker.ends.length }
    deletions.push({ ...deletion, reported: worker.reported })
    worker.phase = 'draining'
  }

  function report(worker: Worker) {
    const { metadata, spec } = worker.pod
    worker.reportedAtMs = nowMs()
    worker.reported = worker.ends.length
    const { id, model, ends, ended, cordon } = worker
    const pod = {
      name: metadata.name,
      podUid: metadata.uid,
      node: spec.nodeName ?? null,
      pool: poolOf(worker.pod),
    }
    const meanGenerationMs = ended === 0 ? null : generationMs
    const engine = {
      model,
      phase: phaseOf(worker),
      slots: SLOTS,
      running: ends.length,
      meanGenerationMs,
      ended,
    }
    const beat = toBeat({ id, ...pod, cordonTerm: cordon?.term ?? null }, engine)
    void publishSignal({ redis: bus, log }, WORKER_BEATS, beat)
  }

  const ofModel = (model: string) => [...workers.values()].filter((worker) => worker.model === model)
  const pulling = (model: string) =>
    ofModel(model).filter((worker) => phaseOf(worker) === 'ready' && worker.ends.length < SLOTS)

  /**
   * Fills free slots, the emptiest worker first, like the pull of many workers. Other generations wait in the queue.
   */
  function serve(model: string, load: { wanted: number; waiting: string[] }) {
    const running = ofModel(model).reduce((sum, { ends }) => sum + ends.length, 0)
    let missing = load.wanted - running
    while (missing > 0) {
      const [worker] = pulling(model).toSorted((a, b) => a.ends.length - b.ends.length)
      if (worker === undefined) break
      worker.ends.push(nowMs() + generationMs * (0.5 + Math.random()))
      missing -= 1
    }
    resizeQueue(model, load.waiting, Math.max(0, missing))
  }

  function resizeQueue(model: string, waiting: string[], length: number) {
    const key = waitingExpiryKey(model)
    const removed = waiting.splice(length)
    if (removed.length > 0) void queue.zrem(key, ...removed).catch(() => {})
    const added = Array.from(
      { length: length - waiting.length },
      () => `${Date.now() * 1_000} ${randomUUID()}`,
    )
    waiting.push(...added)
    const scored = added.flatMap((id) => [Date.now() + NO_EXPIRY_MS, id])
    if (scored.length > 0) void queue.zadd(key, ...scored).catch(() => {})
  }

  function tick() {
    for (const worker of workers.values()) {
      becomeReady(worker)
      const before = worker.ends.length
      worker.ends = worker.ends.filter((endMs) => endMs > nowMs())
      worker.ended += before - worker.ends.length
    }
    for (const [model, load] of loads) serve(model, load)
    for (const worker of workers.values()) if (nowMs() - worker.reportedAtMs >= REPORT_MS) report(worker)
  }

  const timer = setInterval(tick, TICK_MS)
  return {
    follow(pods) {
      for (const [uid, worker] of workers) {
        if (pods.has(uid)) continue
        noteDeletion(worker)
        workers.delete(uid)
      }
      for (const [uid, pod] of pods) {
        if (pod.spec.nodeName === undefined) continue
        const worker = workers.get(uid) ?? start(pod)
        if (isReady(pod)) worker.loadedAtMs ??= nowMs() + loadMs(worker.model)
        becomeReady(worker)
        if (pod.metadata.deletionTimestamp !== undefined) noteDeletion(worker)
      }
    },
    setLoad(model, wanted) {
      loads.set(model, { wanted, waiting: loads.get(model)?.waiting ?? [] })
    },
    running: (model) => ofModel(model).reduce((sum, { ends }) => sum + ends.length, 0),
    ready: (model) => ofModel(model).filter((worker) => phaseOf(worker) === 'ready').length,
    cordoned: (model) => ofModel(model).filter((worker) => phaseOf(worker) === 'cordoned').length,
    deletions,
    async stop() {
      clearInterval(timer)
      for (const connection of [queue, bus, subscriber]) connection.disconnect()
    },
  }
}
