import { STREAM_START, toFailures, type SettlementStreams } from './settlement-streams.ts'
import type { StreamEntry, StreamFailure } from './settlement-streams.ts'

/** One round over the streams of all models. */
export type ReadRound = {
  readonly entries: StreamEntry[]
  /** Models that could not be read. */
  readonly failures: readonly StreamFailure[]
  /** True if every model was read. If false, the caller begins the next round without a pause. */
  readonly isAll: boolean
}

export type RoundReader = {
  /** Reads one round. Never rejects. */
  read(models: readonly string[]): Promise<ReadRound>
  /** Reads only new entries. Used while the entries of the last round are not acknowledged yet. Never rejects. */
  readMore(models: readonly string[]): Promise<ReadRound>
  /** Claims the entries of this model that another consumer, probably a dead one, has not acknowledged. */
  requestClaim(model: string): void
  /**
   * Notes a failure with this model's stream. The stream is read again after a pause, which grows with each failure.
   * That read begins with the entries that this consumer has already received.
   */
  failed(model: string): void
}

/**
 * The largest number of new entries in one round, and therefore in one reply of Redis. An entry has about 650 B, most
 * of it the receipt, so a round has at most 1 MB, however many models have a backlog. Without a bound, 1,000 models
 * took 166 MB.
 */
const MOST_ENTRIES = 1_024
/**
 * One command reads at most `MOST_STREAMS` streams. A round first reads at most `SHARE` entries of each stream. Then it
 * reads more entries of the streams that have more.
 */
const MOST_STREAMS = 64
const SHARE = 8
/**
 * A model is in trouble if the last read or acknowledgement of its stream's entries failed, or if entries of its stream
 * must be claimed from another consumer. A round serves at most `MOST_TROUBLED` models in trouble. Of each of them it
 * reads at most `TROUBLED_SHARE` entries, in addition to the new entries of all models.
 */
const MOST_TROUBLED = 16
const TROUBLED_SHARE = 32

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 1_000

/**
 * Reads the streams in rounds of bounded size, fair between models. Each model gets a small share; then the models that
 * have more entries divide the rest of the round. If a round ends before every model was read, the next round continues
 * with the other models.
 *
 * After a failed read or acknowledgement of a model's entries, the rounds leave out this model for a pause, which grows
 * with each failure. After the pause, the entries that this consumer has already received are read first: the reply of
 * a failed read may have been lost, and entries whose acknowledgement failed are still with this consumer.
 */
export function createRoundReader(options: {
  streams: Pick<SettlementStreams, 'readNew' | 'readOwn' | 'claim'>
  /** The time after which an unacknowledged entry of another consumer is claimed. */
  claimIdleMs: number
  /** A clock that never goes back. */
  monotonicMs: () => number
}): RoundReader {
  const { streams, claimIdleMs, monotonicMs } = options
  /** The id from which claiming continues, by model. */
  const claims = new Map<string, string>()
  /** Models with a failed last read or acknowledgement. This consumer may have received entries of their streams. */
  const failing = new Map<string, { readonly retryMs: number; readonly atMs: number }>()
  /** The index of the model that is read first in the next round, in the list of the models that are not failing. */
  let turn = 0

  /** Reads the entries of models in trouble: entries that this consumer has received, and entries that it claims. */
  async function readTroubled(models: readonly string[]): Promise<Omit<ReadRound, 'isAll'>> {
    const results = await Promise.allSettled(models.map(recover))
    return {
      entries: results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
      failures: toFailures(results, models),
    }
  }

  async function recover(model: string): Promise<StreamEntry[]> {
    if (failing.has(model)) {
      const own = await streams.readOwn(model, TROUBLED_SHARE)
      if (own.length > 0) return own
      failing.delete(model)
    }
    const start = claims.get(model)
    if (start === undefined) return []
    const range = { start, minIdleMs: claimIdleMs, count: TROUBLED_SHARE }
    const { entries, next } = await streams.claim(model, range)
    if (next === null) claims.delete(model)
    else claims.set(model, next)
    return entries
  }

  /**
   * Reads new entries of the models that are not failing. First reads at most `SHARE` entries of each model. Then reads
   * more entries of the models that have more, up to `MOST_ENTRIES` entries in all.
   */
  async function readShares(all: readonly string[]): Promise<ReadRound> {
    const models = all.filter((model) => !failing.has(model))
    if (models.length === 0) return { entries: [], failures: [], isAll: true }
    const entries: StreamEntry[] = []
    const failures: StreamFailure[] = []
    const inTurn = [...models.slice(turn % models.length), ...models.slice(0, turn % models.length)]
    let done = 0
    for (const some of chunks(inTurn)) {
      if (entries.length + some.length * SHARE > MOST_ENTRIES) break
      const found = await streams.readNew(some, SHARE)
      entries.push(...found.entries)
      failures.push(...found.failures)
      done += some.length
    }
    const isAll = done === inTurn.length
    if (!isAll) turn = (turn + done) % models.length
    const counts = Map.groupBy(entries, ({ model }) => model)
    const behind = inTurn.filter((model) => counts.get(model)?.length === SHARE)
    for (const some of chunks(behind)) {
      const share = Math.floor((MOST_ENTRIES - entries.length) / some.length)
      if (share === 0) break
      const found = await streams.readNew(some, Math.min(share, Math.ceil(MOST_ENTRIES / behind.length)))
      entries.push(...found.entries)
      failures.push(...found.failures)
    }
    return { entries, failures, isAll }
  }

  return {
    async read(models) {
      const nowMs = monotonicMs()
      const due = models.filter((model) => nowMs >= (failing.get(model)?.atMs ?? 0))
      const troubled = due.filter((model) => failing.has(model) || claims.has(model))
      const served = troubled.slice(0, MOST_TROUBLED)
      const recovered = await readTroubled(served)
      const fresh = await readShares(due)
      return {
        entries: [...recovered.entries, ...fresh.entries],
        failures: [...recovered.failures, ...fresh.failures],
        isAll: fresh.isAll && served.length === troubled.length,
      }
    },
    readMore: readShares,
    requestClaim(model) {
      if (!claims.has(model)) claims.set(model, STREAM_START)
    },
    failed(model) {
      const retryMs = Math.min(2 * (failing.get(model)?.retryMs ?? FIRST_RETRY_MS / 2), LAST_RETRY_MS)
      failing.set(model, { retryMs, atMs: monotonicMs() + retryMs })
    },
  }
}

function* chunks(models: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < models.length; start += MOST_STREAMS) {
    yield models.slice(start, start + MOST_STREAMS)
  }
}
