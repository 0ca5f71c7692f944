import { hostname } from 'node:os'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { CatalogState } from '#libs/contracts/model-state.ts'
import { EndedRequest, OpenRequest, TenantNow } from '#libs/live-view/rows.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { VERSION } from '#libs/telemetry/version.ts'
import { observeChannel, reportsChannel } from './channels.ts'
import { publishSignal, subscribeSignal, type BusServer, type Signal } from './scaling-signals.ts'

/**
 * The reports of workers and gateways for operators. They contain nothing that heartbeats or the messages of
 * `scaling-signals.ts` contain. Their rows of accounts and requests are rows of the live picture, with ages in place of
 * times. Each process sends a report every 15 s, and every 2 s while a console observes.
 * Counters count since the start of the sender, so the next report makes up for a lost one. Readers ignore unknown
 * fields.
 */

const count = z.int().min(0)
const ms = z.number().min(0)

/** A console sends this message every 5 s while somebody watches. */
const Observe = z.object({
  /** How long reports are wanted every 2 s, counted from the arrival of this message. */
  forMs: z.number().min(0).max(60_000),
})
type Observe = z.infer<typeof Observe>

const OfProcess = {
  /** Boot id. */
  id: z.string(),
  /** The process's name for operators; not unique. */
  name: z.string(),
  host: z.string(),
  pid: count,
  version: z.string(),
  /** ISO 8601, UTC. */
  startedAt: z.string(),
  /** Settlements that the queue Redis has not answered yet. */
  pendingSettlements: count,
}

const EngineReport = z.object({
  model: z.string(),
  /** `host:port`. */
  address: z.string(),
  /** Why the engine does not load; null without a problem. */
  problem: z.string().nullable(),
  /**
   * The parts of a conversation that the model's chat template cannot print. Null if the model has no template, or if
   * the model is not loaded yet.
   */
  refuses: z.array(z.string()).nullable(),
})
export type EngineReport = z.infer<typeof EngineReport>

const WorkerReport = z.object({ ...OfProcess, kind: z.literal('worker'), engines: z.array(EngineReport) })
export type WorkerReport = z.infer<typeof WorkerReport>

const ByCode = z.record(z.string(), count)

const ModelReport = z.object({
  /** The state that the catalog gives the model; null if the model's state depends on its workers. */
  catalog: CatalogState.nullable(),
  /** Requests for a generation. This counter and the next four count since the start of the gateway. */
  asked: count,
  /** Requests that were not admitted, by their code in `API_ERRORS`. */
  refused: ByCode,
  /** Generations that were admitted and ended with an error. */
  failed: ByCode,
  /**
   * Times from admission to the first claim, as packed `TimeBuckets`. `firstTokenMs` has the times from arrival to the
   * first output in the same form.
   */
  queueMs: z.array(z.number()),
  firstTokenMs: z.array(z.number()),
  /** Time since the arrival of the oldest request that waits now. */
  oldestWaitMs: ms.nullable(),
})
export type ModelReport = z.infer<typeof ModelReport>

const TenantReport = TenantNow.omit({ id: true, refusedPerS: true }).extend({
  /** The requests that were refused since the start of the gateway. */
  refused: count,
})
const OpenReport = OpenRequest.omit({ startedAt: true }).extend({ ageMs: ms })
export type OpenReport = z.infer<typeof OpenReport>
const EndedReport = EndedRequest.omit({ endedAt: true }).extend({ endedAgoMs: ms })
export type EndedReport = z.infer<typeof EndedReport>

const GatewayReport = z.object({
  ...OfProcess,
  kind: z.literal('gateway'),
  /** Every model of the gateway's catalog. */
  models: z.record(z.string(), ModelReport),
  /** The 20 pairs of account and model with the most requests that are open or were refused lately. */
  tenants: z.array(TenantReport),
  /** The 200 oldest open generations. */
  open: z.array(OpenReport),
  /** Generations that ended since the previous report, at most 50 a second. Only filled while a console observes. */
  ended: z.array(EndedReport),
})
export type GatewayReport = z.infer<typeof GatewayReport>

export const Report = z.discriminatedUnion('kind', [WorkerReport, GatewayReport])
export type Report = z.infer<typeof Report>

const OBSERVE: Signal<Observe> = { channel: observeChannel, schema: Observe }
export const REPORTS: Signal<Report> = { channel: reportsChannel, schema: Report }

/** Returns the fields by which every report describes its process. */
export function describeProcess(process_: { id: string; name: string }) {
  return {
    ...process_,
    host: hostname(),
    pid: process.pid,
    version: VERSION,
    startedAt: new Date(wallClockMs() - process.uptime() * 1_000).toISOString(),
  }
}

/** Asks every process, on behalf of a console, to report every 2 s from now on, for `forMs`. */
export async function publishObserve(options: { redis: Redis; log: Logger }, forMs: number): Promise<void> {
  await publishSignal(options, OBSERVE, { forMs })
}

export type Reporter = {
  stop(): void
}

const UNWATCHED_MS = 15_000
const WATCHED_MS = 2_000

/**
 * Sends reports on every server of the bus until it is stopped, the first report at once. `build` makes a report.
 * `watched` is true while a console observes this process. `begins` is true only for the first report after a console
 * has begun to observe.
 */
export async function startReporter(deps: {
  servers: readonly BusServer[]
  build: (state: { watched: boolean; begins: boolean }) => Report
  nowMs: () => number
  log: Logger
}): Promise<Reporter> {
  const { servers, build, nowMs, log } = deps
  let watchedUntilMs = -Infinity
  let wasWatched = false
  let stopped = false
  let timer: NodeJS.Timeout | null = null
  const isWatched = () => nowMs() < watchedUntilMs

  function send() {
    const watched = isWatched()
    const report = build({ watched, begins: watched && !wasWatched })
    wasWatched = watched
    for (const { bus } of servers) void publishSignal({ redis: bus, log }, REPORTS, report)
    plan()
  }

  function plan() {
    if (timer !== null) clearTimeout(timer)
    timer = stopped ? null : setTimeout(send, isWatched() ? WATCHED_MS : UNWATCHED_MS)
  }

  function observe({ forMs }: Observe) {
    const before = isWatched()
    watchedUntilMs = Math.max(watchedUntilMs, nowMs() + forMs)
    if (!before && !stopped) send()
  }

  await Promise.all(
    servers.map(async ({ subscriber }) => await subscribeSignal({ subscriber, log }, OBSERVE, observe)),
  )
  send()
  return {
    stop() {
      stopped = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}
