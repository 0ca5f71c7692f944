import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Money } from '../database/money.ts'
import type { ForgottenStream } from '../database/stream-observations.ts'
import type { BillingMetrics } from '../metrics.ts'
import { dropBeforeMs } from './keep-entries.ts'
import type { SettlementStreams, StreamsState } from './settlement-streams.ts'
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
    const state = await streams.observe(current)
    const judged = tracker.judge(state)
    const forgotten = await money.advanceWatermarks(toObservations(state, judged), FREEZE_MS)
    for (const stream of forgotten) await readAgain(stream, state)
    await expire()
    const recorded = current.filter((model) => !forgotten.some((stream) => stream.model === model))
    for (const model of recorded) {
      const settled = judged.get(model) ?? null
      if (settled === null) continue
      settledUntilMs.set(model, settled.untilMs)
      await trim(model, settled, state)
    }
    for (const model of current) watch(model, state)
    if (state.timeMs - forgottenAtMs >= FORGET_EVERY_MS) {
      forgottenAtMs = state.timeMs
      await streams.forgetConsumers(current, FORGET_EVERY_MS)
    }
    await streams.confirm(
      recorded.filter((model) => state.streams.get(model)),
      state.timeMs,
    )
  }

  /** The watermark does not move until the group has read all of them again. */
  async function readAgain({ model, fromMs }: ForgottenStream, state: StreamsState) {
    const stream = state.streams.get(model)
    if (!stream || stream.confirmedMs === null) return
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

  async function trim(model: string, settled: SettledUntil, state: StreamsState) {
    const stream = state.streams.get(model)
    if (!stream) return
    const beforeMs = dropBeforeMs(stream, settled)
    const trimmedMs = trimmedAtMs.get(model) ?? 0
    if (beforeMs < trimmedMs + TRIM_EVERY_MS) return
    await streams.trim(model, `${beforeMs}-0`)
    trimmedAtMs.set(model, beforeMs)
  }

  function watch(model: string, state: StreamsState) {
    const untilMs = settledUntilMs.get(model)
    if (untilMs !== undefined) metrics.watermarkAge.set(model, Math.max(0, state.timeMs - untilMs))
    const pending = state.streams.get(model)?.oldestPendingId
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

function toObservations(state: StreamsState, judged: ReadonlyMap<string, SettledUntil | null>) {
  return {
    runId: state.runId,
    observedAtMs: state.timeMs,
    streams: [...state.streams].flatMap(([model, stream]) =>
      stream === null
        ? []
        : [
            {
              model,
              lastId: stream.lastId,
              settledUntilMs: judged.get(model)?.untilMs ?? null,
              confirmedMs: stream.confirmedMs,
            },
          ],
    ),
  }
}
