/** A request's times follow its charge within seconds. Older than this without them, it will never have any. */
const TIMES_WITHIN_MS = 60_000

/** Whether nothing of a request's record changes any more: it is settled, and its times are known or will not come. */
export function isFinal(
  record: { readonly settlement: { readonly settledAt: string } | null; readonly timing: object | null },
  nowMs: number,
): boolean {
  const { settlement, timing } = record
  if (settlement === null) return false
  return timing !== null || nowMs - Date.parse(settlement.settledAt) > TIMES_WITHIN_MS
}
