import { DAY_MS } from '#libs/page-parts/time.ts'

export type Reset = 'daily' | 'weekly' | 'monthly'

/**
 * Returns the time at which a spend limit begins anew: the next midnight UTC at which a day, a Monday or a month
 * begins.
 */
export function nextReset(reset: Reset, nowMs: number): number {
  const now = new Date(nowMs)
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())
  if (reset === 'daily') return midnight + DAY_MS
  // Monday is 1.
  if (reset === 'weekly') return midnight + ((8 - now.getUTCDay()) % 7 || 7) * DAY_MS
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
}
