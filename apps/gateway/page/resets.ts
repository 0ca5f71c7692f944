import { DAY_MS } from '#libs/page-parts/time.ts'

export type Reset = 'daily' | 'weekly' | 'monthly'

/**
 * Returns the time at which a spend limit begins anew: the beginning, in UTC, of the next day, of the next Monday or of
 * the next month.
 */
export function nextReset(reset: Reset, nowMs: number): number {
  const now = new Date(nowMs)
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())
  if (reset === 'daily') return midnight + DAY_MS
  // Monday is 1.
  if (reset === 'weekly') return midnight + ((8 - now.getUTCDay()) % 7 || 7) * DAY_MS
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
}
