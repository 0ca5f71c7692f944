import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelScale } from '#libs/event-bus/scaling-signals.ts'
import type { Waiting } from '#libs/generation-record/count-waiting.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { runWithin, traceStep, type Span } from '#libs/telemetry/span.ts'
import type { Tracing } from '#libs/telemetry/tracing.ts'
import type { ActOnPods, PodOrders } from './act-on-pods.ts'
import type { Answers } from './answers.ts'
import type { KedaSwitches } from './decide/keda-switches.ts'
import type { PodView } from './decide/types.ts'
import type { Lead } from './lead.ts'
import type { LoadOf } from './load-models.ts'
import { planRound, type Round } from './plan-round.ts'
import type { JoinedPods } from './pods.ts'
import type { ScalerModels } from './scaler-models.ts'
import type { CapacityReader } from './signals/read-capacity.ts'
import type { DemandReader } from './signals/read-demand.ts'
import type { BusWatch } from './signals/watch-bus.ts'
import type { Snapshot, SnapshotStore } from './snapshot.ts'
import type { StartTimesKeeper } from './start-times.ts'

/** The cluster as the watches know it. */
export type Cluster = {
  /** Joins pods with their workers' reports. `nowMs` is in Unix ms. */
  join(nowMs: number): JoinedPods
  /** Returns the switches of the ScaledObject with this name. */
  switchesOf(name: string): KedaSwitches
  replicasOf(deployment: string): number | null
  /** Returns for how many ms the watches have not followed the API server; Infinity before their first lists. */
  behindMs(): number
}

export type Control = {
  /** Runs a round at once, but at most one every 100 ms. */
  wake(): void
  /** Reads the snapshot at once, because another scaler has written it. */
  noteWritten(): void
  /** The last snapshot that this process wrote or read. */
  snapshot(): Snapshot | null
  isLeader(): boolean
  /** Ends the rounds and gives up the lead. */
  stop(): Promise<void>
}

export type ControlOptions = {
  scaler: ScalerModels
  lead: Lead
  store: SnapshotStore
  answers: Answers
  bus: BusWatch
  demand: Pick<DemandReader, 'gateways'>
  capacity: Pick<CapacityReader, 'means' | 'adopt'>
  loadOf: LoadOf
  countWaiting: (model: string) => Promise<Waiting>
  starts: StartTimesKeeper
  cluster: Cluster
  act: ActOnPods
  publishStates: (term: number, states: readonly ModelScale[]) => void
  onRound: (round: Round) => void
  tracing: Tracing
  nowMs: () => number
  log: Logger
}

const ROUND_MS = 1_000
const LEAST_PAUSE_MS = 100
/**
 * Each second this scaler sends a beat over the bus, and receives it back (`watchBus`). If no beat has come back for
 * longer than this, messages of gateways and workers may be lost too.
 */
const SILENT_MS = 2_000
/**
 * If a watch has lost the API server for longer than this, the inputs no longer count as whole (see `startControl`). A
 * watch that ends is opened again within seconds, and changes that are missed for so short a time do no harm.
 */
const BEHIND_MS = 15_000
/** Within this time after the start of this process every worker has reported. */
const LISTEN_FIRST_MS = 3_000
/**
 * A leader whose inputs are not whole (see `startControl`) gives up the lead after this time, because another scaler's
 * inputs may be whole.
 */
const RESIGN_AFTER_MS = 5_000

/**
 * The scaler's loop, one round each second. The leader computes and publishes a snapshot; the other scalers read it, so
 * that all scalers answer KEDA alike.
 *
 *     candidate → leader      the lock was free, and the inputs are whole
 *     leader → candidate      the lock was lost; a write was refused; the inputs were not whole for 5 s; `stop()`
 *
 * Inputs are whole if this process's own beats come back over every server of the bus, the queue Redis answers, the
 * watches follow the cluster, and 3 s have passed since the start of this process (`LISTEN_FIRST_MS`). Without whole
 * inputs the leader writes nothing: after 10 s the answers are stale, and KEDA leaves the replicas as they are. A round
 * first writes the snapshot and then acts on pods. It does both only while this process still holds the lock in the
 * round's term.
 */
export function startControl(options: ControlOptions): Control {
  const { lead, store, answers, bus, starts, cluster, nowMs, log } = options
  const models = options.scaler.models.map(({ model }) => model)
  const startedMs = nowMs()
  const stopping = new AbortController()
  let current: Snapshot | null = null
  /** The term for which this process has taken over the state of the last leader; null while it does not lead. */
  let adoptedTerm: number | null = null
  let unwholeSinceMs: number | null = null
  let wakeUp = () => {}

  const isWhole = () =>
    bus.silentMs() <= SILENT_MS && cluster.behindMs() <= BEHIND_MS && nowMs() - startedMs >= LISTEN_FIRST_MS

  async function round(): Promise<void> {
    bus.beat(false)
    if (!isWhole()) return await sitOut()
    unwholeSinceMs = null
    const { term, redisMs } = await lead.renew()
    const joined = cluster.join(redisMs)
    starts.note(joined)
    if (term === null) return await resume()
    if (term !== adoptedTerm) await adopt(term)
    const span = options.tracing.start('round', { attributes: { 'millrace.scaler.term': term } })
    const run = async () => await leadRound(term, { joined, redisMs, span })
    await runWithin(span, { run, toErrorType })
  }

  async function sitOut(): Promise<void> {
    unwholeSinceMs ??= nowMs()
    if (lead.term() !== null && nowMs() - unwholeSinceMs > RESIGN_AFTER_MS) {
      log.warn({ busSilentMs: bus.silentMs(), watchBehindMs: cluster.behindMs() }, 'lead given up')
      await lead.resign()
    }
    if (lead.term() === null) await resume()
  }

  /** Serves the leader's snapshot instead of numbers that this process has computed. */
  async function resume(): Promise<void> {
    adoptedTerm = null
    await follow()
  }

  async function follow(): Promise<void> {
    const startedMs = nowMs()
    const stored = await store.read()
    // This process may have taken the lead meanwhile.
    if (stored === null || adoptedTerm !== null) return
    current = stored.snapshot
    answers.publish(current.answers, stored.ageMs + nowMs() - startedMs)
  }

  /** Takes over the state of the last leader. */
  async function adopt(term: number): Promise<void> {
    const stored = await store.read()
    current = stored?.snapshot ?? null
    if (current !== null) {
      options.capacity.adopt(current.means)
      starts.adopt(current.starts)
    }
    adoptedTerm = term
    log.info({ term, from: current?.term ?? null }, 'leads')
  }

  async function leadRound(term: number, input: LedRound): Promise<void> {
    const { span } = input
    const waiting = new Map(
      await Promise.all(models.map(async (model) => [model, await options.countWaiting(model)] as const)),
    )
    const waitingOf = (model: string) => waiting.get(model) ?? { count: 0, oldestMs: null }
    const loads = new Map(models.map((model) => [model, options.loadOf(model, waitingOf(model))]))
    const podsOf = (pool: string): readonly PodView[] => input.joined.byPool.get(pool) ?? []
    const gateway = options.scaler.gateway
    const decide = () =>
      planRound({
        scaler: options.scaler,
        loadOf: (model) => loads.get(model) ?? options.loadOf(model, waitingOf(model)),
        waitingOf,
        podsOf,
        switchesOf: cluster.switchesOf,
        gateways: options.demand.gateways(),
        gatewayReplicas: gateway === null ? null : cluster.replicasOf(gateway.deployment),
        starts: starts.current(),
        before: current,
        nowMs: input.redisMs,
      })
    const planned = await traceStep(span, 'decide', { run: decide, toErrorType })
    const means = Object.fromEntries(models.map((model) => [model, options.capacity.means(model)]))
    const snapshot: Snapshot = { ...planned.next, term, means }
    const writtenMs = nowMs()
    if (!(await store.write(snapshot))) {
      log.warn({ term }, 'snapshot refused: another scaler leads')
      span.fail('not_leader')
      return await resume()
    }
    current = snapshot
    answers.publish(snapshot.answers, nowMs() - writtenMs)
    bus.beat(true)
    options.onRound(planned)
    // A process that was frozen after it renewed the lock may have lost the lock. Then it must not act.
    if (lead.term() !== term) return
    const act = (step: Span) => {
      for (const [pool, change] of planned.changes) options.act(podsOf(pool), change, term)
      options.publishStates(term, snapshot.report)
      step.set(countOrders([...planned.changes.values()]))
    }
    await traceStep(span, 'act', { run: act, toErrorType })
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedMs = nowMs()
      const woken = new Promise<void>((resolve) => {
        wakeUp = resolve
      })
      try {
        await round()
      } catch (error) {
        log.warn({ err: error }, 'round failed')
      }
      const leastMs = startedMs + LEAST_PAUSE_MS - nowMs()
      await pause(Math.max(0, leastMs))
      await Promise.race([woken, pause(Math.max(0, startedMs + ROUND_MS - nowMs()))])
    }
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})
  }

  const running = run()
  return {
    wake: () => wakeUp(),
    noteWritten() {
      if (lead.term() !== null || stopping.signal.aborted) return
      follow().catch((error: unknown) => log.warn({ err: error }, 'snapshot not read'))
    },
    snapshot: () => current,
    isLeader: () => lead.term() !== null,
    async stop() {
      stopping.abort()
      await running
      await lead.resign()
    },
  }
}

/** The input of a leader's round, and the span within which it runs. */
type LedRound = { readonly joined: JoinedPods; readonly redisMs: number; readonly span: Span }

const toErrorType = () => 'round_failed'

/**
 * Returns how many orders of each kind a round has, as trace attributes. A cordon is renewed in each round, and is
 * counted each time.
 */
function countOrders(orders: readonly PodOrders[]) {
  const count = (of: (pods: PodOrders) => readonly string[]) =>
    orders.reduce((sum, pods) => sum + of(pods).length, 0)
  return {
    'millrace.scaler.cordons': count(({ cordon }) => cordon),
    'millrace.scaler.uncordons': count(({ uncordon }) => uncordon),
    'millrace.scaler.releases': count(({ release }) => release),
  }
}
