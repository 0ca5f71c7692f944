import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Money } from '../database/money.ts'
import type { ObservedStream } from '../database/observed-stream.ts'
import type { BillingMetrics } from '../metrics.ts'
import { dropBeforeMs } from './keep-entries.ts'
import type { SettlementStreams, StreamObservation, StreamState } from './settlement-streams.ts'
import { createWatermarkTracker, type SettledUntil } from './watermark.ts'

/** How long watermarks do not move after Redis may have lost acknowledged entries. */
const FREEZE_MS = 60_000

const TRIM_EVERY_MS = 10_000

const FORGET_EVERY_MS = 60 * 60 * 1000

const MAX_EXPIRE_BATCH = 500
const MAX_EXPIRE_BATCHES = 20

export type Sweeper = {
  /** Resolves when the current round has ended. */
  stop(): Promise<void>
}

/**
 * Every `everyMs`: observes the settlement streams, moves the watermarks in PostgreSQL, expires the holds behind them,
 * trims the streams and calls `onStuck` for entries that stay unacknowledged. If the database went back in time, the
 * settlements since then are read again. Every replica does it; all of it is idempotent. A failed round is logged, and
 * the next one starts from the state of Redis and PostgreSQL.
 */
export function sweep(options: {
  streams: SettlementStreams
  money: Money
  models: () => readonly string[]
  onStuck: (model: string) => void
  everyMs: number
  metrics: BillingMetrics
  log: Logger
}): Sweeper {
  const { streams, money, models, onStuck, everyMs, metrics, log } = options
  const stopping = new AbortController()
  const tracker = createWatermarkTracker()
  const settledUntilMs = new Map<string, number>()
  const oldestPending = new Map<string, string>()
  const trimmedAtMs = new Map<string, number>()
  let forgottenAtMs = -Infinity

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        await round(models())
      } catch (error) {
        if (stopping.signal.aborted) return
        log.warn({ err: error }, 'sweep failed')
      }
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  async function round(current: readonly string[]) {
    if (current.length === 0) return
    for (const model of current) metrics.watermarkAge.start(model)
    const observed = await observe(current)
    if (observed.length === 0) return
    const forgotten = new Map(
      (await money.advanceWatermarks(observed.flatMap(toObservedStreams), FREEZE_MS)).map((stream) => [
        stream.model,
        stream.fromMs,
      ]),
    )
    await each(observed, async (one) => {
      const fromMs = forgotten.get(one.model)
      if (fromMs !== undefined) await readAgain({ ...one, fromMs })
    })
    await expire()
    await each(observed, async (one) => {
      watch(one)
      if (!forgotten.has(one.model)) await finish(one)
    })
    if (performance.now() - forgottenAtMs < FORGET_EVERY_MS) return
    forgottenAtMs = performance.now()
    await each(observed, async ({ model }) => await streams.forgetConsumers(model, FORGET_EVERY_MS))
  }

  /** Of the models whose Redis answers. */
  async function observe(current: readonly string[]): Promise<Observed[]> {
    const observed: Observed[] = []
    await each(
      current.map((model) => ({ model })),
      async ({ model }) => {
        const observation = await streams.observe(model)
        observed.push({ model, observation, settled: tracker.judge(model, observation) })
      },
    )
    return observed
  }

  /** A failure, of a server that is away, does not keep the other models from going on. */
  async function each<Item extends { readonly model: string }>(
    items: readonly Item[],
    act: (item: Item) => Promise<void>,
  ) {
    const results = await Promise.allSettled(items.map(act))
    const failed = items.filter((_, index) => results[index]?.status === 'rejected')
    if (failed.length === 0 || stopping.signal.aborted) return
    const first = results.find(({ status }) => status === 'rejected')
    const err: unknown = first?.status === 'rejected' ? first.reason : undefined
    log.warn({ err, models: failed.map(({ model }) => model) }, 'sweep failed')
  }

  /** The watermark does not move until the group has read all of them again. */
  async function readAgain({ model, observation, fromMs }: Observed & { fromMs: number | null }) {
    const { stream } = observation
    if (stream === null || stream.confirmedMs === null) return
    if (!(await streams.readAgain(model, stream.confirmedMs, fromMs ?? 0))) return
    metrics.streamReplays.inc()
    const oldestKeptMs = stream.oldestId === null ? null : Number(stream.oldestId.ms)
    log.error(
      { model, fromMs, oldestKeptMs, confirmedMs: stream.confirmedMs },
      'the database went back in time: settlements since then are read again',
    )
  }

  async function expire() {
    for (let batch = 0; batch < MAX_EXPIRE_BATCHES; batch += 1) {
      const { expired, more } = await money.expire(MAX_EXPIRE_BATCH)
      if (expired > 0) {
        metrics.expiredHolds.inc(expired)
        log.warn({ expired }, 'holds expired without a settlement')
      }
      if (!more) return
    }
  }

  /** After the database has recorded it. */
  async function finish({ model, observation, settled }: Observed) {
    const { runId, timeMs, stream } = observation
    if (stream === null) return
    await streams.confirm(model, { runId, observedMs: timeMs, committedMs: settled?.untilMs ?? null })
    if (settled !== null) await trim(model, settled, stream)
  }

  async function trim(model: string, settled: SettledUntil, stream: StreamState) {
    const beforeMs = dropBeforeMs(stream, settled)
    const trimmedMs = trimmedAtMs.get(model) ?? 0
    if (beforeMs < trimmedMs + TRIM_EVERY_MS) return
    await streams.trim(model, `${beforeMs}-0`)
    trimmedAtMs.set(model, beforeMs)
  }

  function watch({ model, observation, settled }: Observed) {
    if (settled !== null) settledUntilMs.set(model, settled.untilMs)
    const untilMs = settledUntilMs.get(model)
    if (untilMs !== undefined) metrics.watermarkAge.set(model, Math.max(0, observation.timeMs - untilMs))
    const pending = observation.stream?.oldestPendingId
    const id = pending ? `${pending.ms}-${pending.seq}` : ''
    if (id !== '' && oldestPending.get(model) === id) onStuck(model)
    oldestPending.set(model, id)
  }

  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

type Observed = {
  readonly model: string
  readonly observation: StreamObservation
  readonly settled: SettledUntil | null
}

function toObservedStreams({ model, observation, settled }: Observed): ObservedStream[] {
  const { runId, timeMs, stream } = observation
  if (stream === null) return []
  const { lastId, confirmedMs } = stream
  return [
    { model, runId, observedAtMs: timeMs, lastId, settledUntilMs: settled?.untilMs ?? null, confirmedMs },
  ]
}
