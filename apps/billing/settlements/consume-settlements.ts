import { setTimeout as sleep } from 'node:timers/promises'
import type { Settlement } from '#libs/contracts/settlement.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { BillingMetrics } from '../metrics.ts'
import { parseSettlement } from './parse-settlement.ts'
import type { SettleEntries } from './settle-entries.ts'
import { STREAM_START, type SettlementStreams, type StreamEntry } from './settlement-streams.ts'

export type SettlementConsumer = {
  /** Claims the entries of this model that another consumer, probably dead, has not acknowledged. */
  requestClaim(model: string): void
  /** Ends after the current batch; another replica claims the entries that are not acknowledged then. */
  stop(): Promise<void>
}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 1_000

/**
 * Takes settlements from the streams of all models: read, settle, acknowledge after the commit. One batch at a time;
 * all other entries stay in Redis. Runs until `stop`: while Redis or PostgreSQL is unavailable it tries again, and
 * unreadable entries go to the dead letters with an alarm.
 *
 * The streams are read without blocking, at once while entries come and else after a pause: a blocking read needs a
 * connection of its own, in a Redis Cluster one for each model. A model whose stream cannot be read waits longer; then
 * the entries of a read whose reply was lost are read first.
 */
export function consumeSettlements(options: {
  streams: SettlementStreams
  models: () => readonly string[]
  settle: SettleEntries
  /** How long an entry must be unacknowledged before it is claimed from another consumer. */
  claimIdleMs: number
  /** Between two reads without entries. */
  readPauseMs: number
  metrics: BillingMetrics
  log: Logger
}): SettlementConsumer {
  const { streams, models, settle, claimIdleMs, readPauseMs, metrics, log } = options
  const stopping = new AbortController()
  /** The id from which each claim continues. */
  const claims = new Map<string, string>()
  /** Models whose last attempt failed: this consumer may have entries of theirs. */
  const failing = new Map<string, { readonly retryMs: number; readonly atMs: number }>()

  async function run() {
    while (!stopping.signal.aborted) {
      const entries = await collect(models())
      if (entries.length === 0) await pause(readPauseMs)
      else await take(entries)
    }
  }

  /** The next entries of all models, in the order of each model. */
  async function collect(current: readonly string[]): Promise<StreamEntry[]> {
    const nowMs = performance.now()
    const due = current.filter((model) => nowMs >= (failing.get(model)?.atMs ?? 0))
    const results = await Promise.allSettled(due.map(next))
    noteFailures(toFailures(results, due))
    return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  }

  async function next(model: string): Promise<StreamEntry[]> {
    if (failing.has(model)) {
      const own = await streams.readOwn(model)
      if (own.length > 0) return own
    }
    const entries: StreamEntry[] = []
    const start = claims.get(model)
    if (start !== undefined) {
      const claimed = await streams.claim(model, { start, minIdleMs: claimIdleMs })
      if (claimed.next === null) claims.delete(model)
      else claims.set(model, claimed.next)
      entries.push(...claimed.entries)
    }
    // A long claim alternates with new entries.
    entries.push(...(await streams.readNew(model)))
    failing.delete(model)
    return entries
  }

  async function take(entries: readonly StreamEntry[]) {
    const readable: { entry: StreamEntry; settlement: Settlement }[] = []
    const unreadable: { entry: StreamEntry; problem: string }[] = []
    for (const entry of entries) {
      const parsed = entry.fields === null ? { problem: 'deleted' } : parseSettlement(entry.fields)
      if ('settlement' in parsed) readable.push({ entry, settlement: parsed.settlement })
      else unreadable.push({ entry, problem: parsed.problem })
    }
    await bury(unreadable)
    for (let start = 0; start < readable.length; start += MAX_BATCH) {
      const batch = readable.slice(start, start + MAX_BATCH)
      const settlements = batch.map(({ entry, settlement }) => ({ ...settlement, model: entry.model }))
      const refused = await settle(settlements, stopping.signal).catch((error: unknown) => {
        noteFailures(batch.map(({ entry: { model } }) => ({ model, error })))
        return null
      })
      if (refused === null) continue
      const problems = new Map(refused.map(({ index, problem }) => [index, problem]))
      await bury(
        batch.flatMap(({ entry }, index) => {
          const problem = problems.get(index)
          return problem === undefined ? [] : [{ entry, problem }]
        }),
      )
      await acknowledge(batch.filter((_, index) => !problems.has(index)).map(({ entry }) => entry))
    }
  }

  async function acknowledge(entries: readonly StreamEntry[]) {
    const ofModels = [...Map.groupBy(entries, ({ model }) => model)]
    await each(ofModels, async (model, ofModel) => await streams.acknowledge(model, ofModel))
  }

  async function bury(entries: readonly { entry: StreamEntry; problem: string }[]) {
    const ofModels = [...Map.groupBy(entries, ({ entry }) => entry.model)]
    await each(ofModels, async (_, ofModel) => {
      for (const { entry, problem } of ofModel) {
        await streams.bury(entry, problem)
        metrics.settlementAlarms.inc({ kind: 'unreadable' })
        log.error({ entry, problem }, 'settlement buried')
      }
    })
  }

  /** Acts on all models at once. Where it fails the entries stay this consumer's, and are read again. */
  async function each<Entry>(
    ofModels: readonly (readonly [string, readonly Entry[]])[],
    act: (model: string, entries: readonly Entry[]) => Promise<void>,
  ) {
    const results = await Promise.allSettled(ofModels.map(([model, entries]) => act(model, entries)))
    noteFailures(
      toFailures(
        results,
        ofModels.map(([model]) => model),
      ),
    )
  }

  function noteFailures(failures: readonly Failure[]) {
    if (failures.length === 0 || stopping.signal.aborted) return
    const failed = new Set(failures.map(({ model }) => model))
    for (const model of failed) {
      const retryMs = Math.min(2 * (failing.get(model)?.retryMs ?? FIRST_RETRY_MS / 2), LAST_RETRY_MS)
      failing.set(model, { retryMs, atMs: performance.now() + retryMs })
    }
    log.warn({ err: failures[0]?.error, models: [...failed] }, 'settlements could not be taken')
  }

  async function pause(ms: number) {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  const running = run()
  return {
    requestClaim(model) {
      if (!claims.has(model)) claims.set(model, STREAM_START)
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

const MAX_BATCH = 512

type Failure = { readonly model: string; readonly error: unknown }

function toFailures(results: readonly PromiseSettledResult<unknown>[], models: readonly string[]): Failure[] {
  return results.flatMap((result, index): Failure[] =>
    result.status === 'rejected' ? [{ model: models[index] ?? '', error: result.reason }] : [],
  )
}
