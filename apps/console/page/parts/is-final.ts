/**
 * Billing writes the times of a request within seconds after its charge. If the times are still missing this long after
 * the charge, they will never come.
 */
const TIMES_WITHIN_MS = 60_000

/**
 * Returns true if billing's data about a request will not change any more: the request is settled, and its times are
 * known or will not come.
 */
export function isFinal(
  record: { readonly settlement: { readonly settledAt: string } | null; readonly timing: object | null },
  nowMs: number,
): boolean {
  const { settlement, timing } = record
  if (settlement === null) return false
  return timing !== null || nowMs - Date.parse(settlement.settledAt) > TIMES_WITHIN_MS
}
