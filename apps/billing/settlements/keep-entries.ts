import type { StreamState } from './settlement-streams.ts'
import type { SettledUntil } from './watermark.ts'

/**
 * The entries of a settlement stream are kept until they are this much older than the stream's watermark. After
 * PostgreSQL was restored from a backup, the kept entries are read again.
 */
const KEEP_MS = 60 * 60 * 1000

/** The most entries kept per model, which take 130 MB at 650 bytes each, most of it for the receipt. */
const MAX_KEPT = 200_000

/**
 * Returns the time of the oldest entries that must be kept: entries of the stream may be dropped if the time in their
 * ids is earlier. The time in an id comes from the server's clock. If that clock was set back, an id may have a later
 * time than the clock. So the returned time is never later than either of these: the watermark `untilMs`, which is a
 * time of that clock, and the time in `upTo`, the last settled id.
 */
export function dropBeforeMs(
  { length, oldestId }: Pick<StreamState, 'length' | 'oldestId'>,
  { untilMs, upTo }: SettledUntil,
): number {
  const byAge = Math.min(untilMs - KEEP_MS, Number(upTo.ms))
  if (length <= MAX_KEPT || oldestId === null) return byAge
  // Assumes that entries arrived evenly. If they did not, the next rounds approach the limit.
  const settledMs = Math.min(untilMs, Number(upTo.ms))
  const spanMs = Math.max(0, settledMs - Number(oldestId.ms))
  return Math.max(byAge, settledMs - Math.floor((spanMs * MAX_KEPT) / length))
}
