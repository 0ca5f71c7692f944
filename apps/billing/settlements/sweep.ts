import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Money } from '../money/money.ts'
import type { ClockJump, ObservedStream, RecordedStream } from '../database/observed-stream.ts'
import type { BillingMetrics } from '../metrics.ts'
import { createLooks } from './choose-looks.ts'
import { dropBeforeMs } from './keep-entries.ts'
import { createQueueClocks, JUMP_MS } from './queue-clocks.ts'
import type { SettlementStreams, StreamObservation, StreamState } from './settlement-streams.ts'
import { createLossWatch } from './watch-losses.ts'
import { createWatermarkTracker, type SettledUntil } from './watermark.ts'

/** The time for which watermarks do not move after Redis may have lost acknowledged entries. */
const FREEZE_MS = 60_000

const TRIM_EVERY_MS = 10_000

const FORGET_EVERY_MS = 60 * 60 * 1000

const MAX_EXPIRE_BATCH = 500
const MAX_EXPIRE_BATCHES = 20

export type Sweeper = {
  /** Notes that an entry of this model's stream was read. */
  touch(model: string): void
  /** Resolves when the current round has ended. */
  stop(): Promise<void>
}

/**
 * Every `everyMs`: observes the settlement streams, moves the watermarks in PostgreSQL, expires the holds behind them,
 * trims the streams and calls `onStuck` for entries that stay unacknowledged. If the database was set back to an
 * earlier state, the settlements since that state are read again. If a stream lost entries although its server did not
 * restart, the stream gets another incarnation and an alarm is raised; the gateways then send again the settlements
 * that they keep. Every replica sweeps, because each step is idempotent. A failed round is logged, and the next round
 * starts from the state of Redis and PostgreSQL.
 *
 * An idle stream is observed more rarely, and its watermark in PostgreSQL does not move until a hold of its model is
 * overdue. Then the stream is observed in the same round. So a second in which nothing happens costs the same for ten
 * models as for a thousand, and writes nothing in PostgreSQL.
 *
 * After a server's clock has jumped, holds in use could expire too early by this clock. So the watermarks that follow
 * this clock do not move for some time: `freeze_watermarks.sql` says how long.
 */
export function sweep(options: {
  streams: SettlementStreams
  money: Money
  models: () => readonly string[]
  onStuck: (model: string) => void
  everyMs: number
  /** The time between two observations of an idle stream. */
  idleEveryMs: number
  metrics: BillingMetrics
  log: Logger
}): Sweeper {
  const { streams, money, models, onStuck, everyMs, idleEveryMs, metrics, log } = options
  const stopping = new AbortController()
  const monotonicMs = () => performance.now()
  const tracker = createWatermarkTracker()
  const losses = createLossWatch()
  const looks = createLooks({ idleEveryMs, monotonicMs })
  const settledUntilMs = new Map<string, number>()
  const oldestPending = new Map<string, string>()
  const trimmedAtMs = new Map<string, number>()
  let forgottenAtMs = -Infinity
  const clocks = createQueueClocks(monotonicMs)
  /** Jumps that the database has not recorded yet, by model. */
  const jumped = new Map<string, ClockJump>()

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        await round(models())
      } catch (error) {
        if (stopping.signal.aborted) return
        // When the database answers again, it may be another database, or an earlier state of the same database.
        looks.forget()
        log.warn({ err: error }, 'sweep failed')
      }
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  async function round(current: readonly string[]) {
    if (current.length === 0) return
    for (const model of current) metrics.watermarkAge.start(model)
    const first = await observe(looks.due(current))
    const overdue = await findOverdue(current)
    const seen = new Set(first.map(({ model }) => model))
    const observed = [...first, ...(await observe(overdue.filter((model) => !seen.has(model))))]
    const recorded = await record(observed, new Set(overdue))
    await freeze(recorded.map(toJumpBefore))
    await each(recorded, readAgain)
    if (overdue.length > 0) await expire()
    await each(recorded, async (one) => {
      watch(one)
      if (one.forgotten === null) await finish(one)
    })
    if (monotonicMs() - forgottenAtMs < FORGET_EVERY_MS) return
    forgottenAtMs = monotonicMs()
    const all = current.map((model) => ({ model }))
    await each(all, async ({ model }) => await streams.forgetConsumers(model, FORGET_EVERY_MS))
  }

  /** Returns the models with overdue holds (`Money.overdueModels`). */
  async function findOverdue(current: readonly string[]): Promise<string[]> {
    const redisMs = clocks.nowMs()
    if (redisMs === null) return []
    const overdue = new Set(await money.overdueModels(redisMs))
    return current.filter((model) => overdue.has(model))
  }

  /** Records the observations. The watermark of an idle stream moves only if a hold waits for it. */
  async function record(observed: readonly Observed[], overdue: ReadonlySet<string>): Promise<Recorded[]> {
    if (observed.length === 0) return []
    const noted = observed.flatMap((one) =>
      toObservedStreams(one, looks.isLively(one.model) || overdue.has(one.model)),
    )
    const found = new Map(
      (await money.noteObservations(noted, FREEZE_MS)).map((stream) => [stream.model, stream]),
    )
    return observed.map((one) => {
      const { recordedMs = null, forgotten = null } = found.get(one.model) ?? {}
      return { ...one, recordedMs, forgotten }
    })
  }

  /** Observes the streams of the models whose Redis answers. */
  async function observe(current: readonly string[]): Promise<Observed[]> {
    const observed: Observed[] = []
    await each(
      current.map((model) => ({ model })),
      async ({ model }) => {
        const sentMs = monotonicMs()
        const observation = await streams.observe(model)
        const jumpMs = clocks.note(model, { timeMs: observation.timeMs, sentMs, answeredMs: monotonicMs() })
        metrics.deadLetters.set(model, observation.deadLetters)
        if (await isSpoiled(model, observation)) return
        observed.push({ model, observation, settled: tracker.judge(model, observation), jumpMs })
      },
    )
    await freeze(
      observed.map(({ model, observation, jumpMs }) => ({ model, observation, byMs: jumpMs ?? 0 })),
    )
    return observed
  }

  /**
   * If a server's clock has jumped, freezes the watermarks that follow this clock, so that the jump does not move them.
   * If the freezing fails, the round fails too, and the next round tries again.
   */
  async function freeze(
    read: readonly (Pick<Observed, 'model' | 'observation'> & { readonly byMs: number })[],
  ) {
    for (const { model, observation, byMs } of read) {
      if (byMs === 0) continue
      jumped.set(model, { model, timeMs: observation.timeMs, byMs: byMs + (jumped.get(model)?.byMs ?? 0) })
    }
    if (jumped.size === 0) return
    const jumps = [...jumped.values()]
    await money.freezeWatermarks(jumps)
    jumped.clear()
    metrics.clockJumps.inc(jumps.length)
    log.error({ jumps }, 'the clock of a queue Redis jumped: its holds expire later')
  }

  /**
   * Handles the loss of entries that the observation shows (`watch-losses.ts`), and returns whether the observation
   * must not be used. If the loss is `went-back`, the function gives the stream a new incarnation and returns true:
   * until the stream has this incarnation, no observation of it may be used. If the loss is `lost`, the function logs
   * an error, counts the loss and returns false. If there is no loss, it returns false.
   */
  async function isSpoiled(model: string, observation: StreamObservation): Promise<boolean> {
    const loss = losses.judge(model, observation)
    if (loss === 'lost') {
      metrics.streamLosses.inc()
      log.error(
        { model },
        'settlements vanished from the queue Redis: the gateways send again what they keep',
      )
    }
    if (loss === 'went-back') await streams.renew(model, observation.incarnation)
    return loss === 'went-back'
  }

  /** Calls `act` for all items at once. A failure, such as a server that is away, does not stop the other models. */
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

  /**
   * If the database has lost settlements, lets billing's consumer group read these settlements from the stream again.
   * Until they are read, the watermark does not move.
   */
  async function readAgain({ model, observation, forgotten }: Recorded) {
    const { stream } = observation
    if (forgotten === null || stream === null || stream.confirmedMs === null) return
    const { fromMs } = forgotten
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

  /** Confirms an observation and trims its stream, after the database has recorded the observation. */
  async function finish({ model, observation, settled, recordedMs }: Recorded) {
    const { runId, stream } = observation
    if (stream === null) return
    const isStored = recordedMs === stream.confirmedMs
    const committedMs = settled?.untilMs ?? null
    await streams.confirm(model, { runId, recordedMs: isStored ? null : recordedMs, committedMs })
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
    const { timeMs, stream } = observation
    const isSettled = stream !== null && settled !== null && settled.upTo === stream.lastId
    looks.note(model, { timeMs, lastEntryMs: stream === null ? null : Number(stream.lastId.ms), isSettled })
    if (settled !== null) settledUntilMs.set(model, settled.untilMs)
    const untilMs = settledUntilMs.get(model)
    if (untilMs !== undefined) metrics.watermarkAge.set(model, Math.max(0, timeMs - untilMs))
    const pending = stream?.oldestPendingId
    const id = pending ? `${pending.ms}-${pending.seq}` : ''
    if (id !== '' && oldestPending.get(model) === id) onStuck(model)
    oldestPending.set(model, id)
  }

  const running = run()
  return {
    touch: looks.touch,
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
  /** The jump of the server's clock since the last observation; null: there was no observation before. */
  readonly jumpMs: number | null
}

type Recorded = Observed & Pick<RecordedStream, 'recordedMs' | 'forgotten'>

/**
 * Finds out whether the server's clock jumped back before this process began to observe the clock. `byMs` of the result
 * is the jump as a negative number; it is 0 if the clock did not jump back. Such a jump shows in the database: the
 * database has recorded a time that the server's clock has not reached.
 */
function toJumpBefore({ model, observation, jumpMs, recordedMs, forgotten }: Recorded) {
  const byMs = observation.timeMs - (recordedMs ?? observation.timeMs)
  const isJump = jumpMs === null && forgotten === null && byMs < -JUMP_MS
  return { model, observation, byMs: isJump ? byMs : 0 }
}

function toObservedStreams({ model, observation, settled }: Observed, moves: boolean): ObservedStream[] {
  const { runId, timeMs, stream } = observation
  if (stream === null) return []
  const { lastId, confirmedMs } = stream
  const settledUntilMs = moves ? (settled?.untilMs ?? null) : null
  return [{ model, runId, observedAtMs: timeMs, lastId, settledUntilMs, confirmedMs }]
}
