import { setTimeout as sleep } from 'node:timers/promises'
import type { Settlement } from '#libs/contracts/settlement.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { BillingMetrics } from '../metrics.ts'
import type { CheckProof } from './check-proof.ts'
import { parseSettlement } from './parse-settlement.ts'
import { createRoundReader, type ReadRound, type RoundReader } from './read-round.ts'
import type { SettleEntries } from './settle-entries.ts'
import { toFailures, type SettlementStreams } from './settlement-streams.ts'
import type { StreamEntry, StreamFailure } from './settlement-streams.ts'

export type SettlementConsumer = {
  /** Claims the entries of this model that another consumer, probably a dead one, has not acknowledged. */
  requestClaim(model: string): void
  /** Stops after the current batch. Another replica claims the entries that are not acknowledged by then. */
  stop(): Promise<void>
}

type Readable = { readonly entry: StreamEntry; readonly settlement: Settlement }

/** The most entries in one commit. */
const MAX_BATCH = 512

/**
 * A batch with this many entries is committed without waiting for more: more entries would hardly lower the cost of
 * each.
 */
const FULL_BATCH = 64

/**
 * Takes settlements from the streams of all models: reads, settles, and acknowledges them after the commit. It handles
 * one batch at a time; all other entries stay in Redis. Runs until `stop`. While Redis or PostgreSQL is unavailable it
 * tries again. Entries that cannot be read or settled, or that lack a proof, go to the dead letters with an alarm.
 *
 * The streams are read without blocking. While streams have entries, one read follows the other at once; after a read
 * of all streams that returned no entries, there is a pause. A blocking read would need a separate connection, and in a
 * Redis Cluster a separate connection for each model.
 *
 * A commit costs several times as much as adding an entry to it, and the reservations of new requests need the same
 * database. So a batch that is not full waits for the entries that arrive within `gatherMs` after it was read. Until
 * the batch is committed its entries are pending: they keep the watermark from moving, and another replica claims them
 * if this replica ends.
 */
export function consumeSettlements(options: {
  streams: SettlementStreams
  models: () => readonly string[]
  checkProof: CheckProof
  settle: SettleEntries
  /** Called with the model of each entry that was read. */
  onEntry: (model: string) => void
  /** The time after which an unacknowledged entry of another consumer is claimed. */
  claimIdleMs: number
  /** The time for which a batch that is not full waits for more entries. */
  gatherMs: number
  /** The pause after a read of all streams that returned no entries. */
  readPauseMs: number
  metrics: BillingMetrics
  log: Logger
}): SettlementConsumer {
  const { streams, models, checkProof, settle, onEntry, claimIdleMs, gatherMs, readPauseMs, metrics, log } =
    options
  const stopping = new AbortController()
  const reader = createRoundReader({ streams, claimIdleMs, monotonicMs: () => performance.now() })

  async function run() {
    while (!stopping.signal.aborted) {
      const { entries, isAll } = await read(reader.read)
      if (entries.length === 0) {
        if (isAll) await pause(readPauseMs)
        continue
      }
      if (entries.length < FULL_BATCH) {
        await pause(gatherMs)
        if (!stopping.signal.aborted) entries.push(...(await read(reader.readMore)).entries)
      }
      for (const { model } of entries) onEntry(model)
      await take(entries)
    }
  }

  async function read(from: RoundReader['read']): Promise<ReadRound> {
    const round = await from(models())
    noteFailures(round.failures)
    return round
  }

  async function take(entries: readonly StreamEntry[]) {
    const readable: Readable[] = []
    const unreadable: { entry: StreamEntry; problem: string }[] = []
    for (const entry of entries) {
      const parsed = entry.fields === null ? { problem: 'deleted' } : parseSettlement(entry.fields)
      if ('settlement' in parsed) readable.push({ entry, settlement: parsed.settlement })
      else unreadable.push({ entry, problem: parsed.problem })
    }
    await bury(unreadable)
    const proven = await keepProven(readable)
    for (let start = 0; start < proven.length; start += MAX_BATCH) {
      const batch = proven.slice(start, start + MAX_BATCH)
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

  /** Puts the entries without a proof aside. An entry that could not be checked stays pending, and is read again. */
  async function keepProven(readable: readonly Readable[]): Promise<Readable[]> {
    const check = async ({ entry: { model }, settlement }: Readable) =>
      await checkProof(settlement).catch((error: unknown) => noteFailures([{ model, error }]))
    const problems = await Promise.all(readable.map(check))
    const unproven = readable.flatMap(({ entry }, index) => {
      const problem = problems[index]
      return problem ? [{ entry, problem }] : []
    })
    await bury(unproven, 'unproven')
    return readable.filter((_, index) => problems[index] === null)
  }

  async function acknowledge(entries: readonly StreamEntry[]) {
    const ofModels = [...Map.groupBy(entries, ({ model }) => model)]
    await each(ofModels, async (model, ofModel) => await streams.acknowledge(model, ofModel))
  }

  async function bury(entries: readonly { entry: StreamEntry; problem: string }[], kind = 'dead-letter') {
    const ofModels = [...Map.groupBy(entries, ({ entry }) => entry.model)]
    await each(ofModels, async (_, ofModel) => {
      for (const { entry, problem } of ofModel) {
        await streams.bury(entry, problem)
        metrics.settlementAlarms.inc({ kind })
        log.error({ model: entry.model, entry: entry.id, problem }, 'settlement put to the dead letters')
      }
    })
  }

  /** Calls `act` for all models at once. If a call fails, its entries stay with this consumer, and are read again. */
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

  function noteFailures(failures: readonly StreamFailure[]) {
    if (failures.length === 0 || stopping.signal.aborted) return
    const failed = new Set(failures.map(({ model }) => model))
    for (const model of failed) reader.failed(model)
    log.warn({ err: failures[0]?.error, models: [...failed] }, 'settlements could not be taken')
  }

  async function pause(ms: number) {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  const running = run()
  return {
    requestClaim: reader.requestClaim,
    async stop() {
      stopping.abort()
      await running
    },
  }
}
