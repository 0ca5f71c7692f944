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
 */
export function consumeSettlements(options: {
  streams: SettlementStreams
  models: () => readonly string[]
  settle: SettleEntries
  /** How long an entry must be unacknowledged before it is claimed from another consumer. */
  claimIdleMs: number
  /** How long a read waits for entries; also how soon a claim, a new model or a stop is noticed. */
  blockMs: number
  metrics: BillingMetrics
  log: Logger
}): SettlementConsumer {
  const { streams, models, settle, claimIdleMs, blockMs, metrics, log } = options
  const stopping = new AbortController()
  const joined = new Set<string>()
  /** The id from which each claim continues. */
  const claims = new Map<string, string>()

  async function run() {
    let retryMs = FIRST_RETRY_MS
    while (!stopping.signal.aborted) {
      try {
        await takeBatch()
        retryMs = FIRST_RETRY_MS
      } catch (error) {
        if (stopping.signal.aborted) return
        // Also after NOGROUP: Redis restarted without the groups.
        joined.clear()
        log.warn({ err: error }, 'settlements could not be taken')
        await pause(retryMs)
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
      }
    }
  }

  async function takeBatch() {
    const current = models()
    if (current.length === 0) return await pause(blockMs)
    for (const model of current) {
      if (joined.has(model)) continue
      await streams.ensureGroup(model)
      joined.add(model)
    }
    for (const [model, start] of claims) {
      const { entries, next } = await streams.claim(model, { start, minIdleMs: claimIdleMs })
      if (next === null) claims.delete(model)
      else claims.set(model, next)
      await take(entries)
    }
    // A long claim alternates with new entries, and does not wait for them.
    await take(await streams.read(current, claims.size === 0 ? blockMs : 1))
  }

  async function take(entries: readonly StreamEntry[]) {
    const readable: { entry: StreamEntry; settlement: Settlement }[] = []
    for (const entry of entries) {
      const parsed = entry.fields === null ? { problem: 'deleted' } : parseSettlement(entry.fields)
      if ('settlement' in parsed) readable.push({ entry, settlement: parsed.settlement })
      else await bury(entry, parsed.problem)
    }
    for (let start = 0; start < readable.length; start += MAX_BATCH) {
      const batch = readable.slice(start, start + MAX_BATCH)
      const refused = await settle(
        batch.map(({ settlement }) => settlement),
        stopping.signal,
      )
      for (const { index, problem } of refused) {
        const entry = batch[index]?.entry
        if (entry) await bury(entry, problem)
      }
      await streams.acknowledge(batch.map(({ entry }) => entry))
    }
  }

  async function bury(entry: StreamEntry, problem: string) {
    metrics.settlementAlarms.inc({ kind: 'unreadable' })
    log.error({ entry, problem }, 'settlement buried')
    await streams.bury(entry, problem)
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
