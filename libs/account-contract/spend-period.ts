/**
 * The public name of a spend limit's reset, for each period that a limit can have. The admin interface and the database
 * use the periods instead (`day` for `daily`). A limit whose reset is null is never reset.
 */
export const RESETS = { day: 'daily', week: 'weekly', month: 'monthly', total: null } as const

const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** Returns the period of a spend limit whose reset has the public name `reset`. */
export function toPeriod(reset: keyof typeof PERIODS | null): keyof typeof RESETS {
  return reset === null ? 'total' : PERIODS[reset]
}
