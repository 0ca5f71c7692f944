import type { StreamState } from './settlement-streams.ts'
import type { SettledUntil } from './watermark.ts'

/** Entries stay this long behind the watermark: a database that was restored from a backup reads them again. */
const KEEP_MS = 60 * 60 * 1000

/** Of one model, and no more than these: 130 MB of 650 bytes each, most of them the receipt. */
const MAX_KEPT = 200_000

/**
 * The time before which entries of a stream may go, by their ids. Ids and clock may disagree after a clock went back;
 * an entry goes only when it is settled by both.
 */
export function dropBeforeMs(
  { length, oldestId }: Pick<StreamState, 'length' | 'oldestId'>,
  { untilMs, upTo }: SettledUntil,
): number {
  const byAge = Math.min(untilMs - KEEP_MS, Number(upTo.ms))
  if (length <= MAX_KEPT || oldestId === null) return byAge
  // As if entries had come evenly. Where they did not, the next looks come closer.
  const settledMs = Math.min(untilMs, Number(upTo.ms))
  const spanMs = Math.max(0, settledMs - Number(oldestId.ms))
  return Math.max(byAge, settledMs - Math.floor((spanMs * MAX_KEPT) / length))
}
