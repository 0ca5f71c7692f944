/**
 * One reading of a Redis server's clock, which was at `timeMs`. By the monotonic clock of this process, the request was
 * sent at `sentMs` and answered at `answeredMs`.
 */
export type Reading = { readonly timeMs: number; readonly sentMs: number; readonly answeredMs: number }

export type QueueClocks = {
  /**
   * Returns how far the clock of the model's server has jumped since the last reading. Negative: back; 0: no jump;
   * null: this is the first reading.
   */
  note(model: string, reading: Reading): number | null
  /** Returns the present time by the server whose clock is furthest ahead; null: unknown. */
  nowMs(): number | null
}

/**
 * The clock of a Redis server has jumped if, between two readings, it and this process's monotonic clock have moved
 * apart by more than this. A hold expires at the earliest when the Redis server's clock is 30 s past the hold's
 * `expires_at`, so a smaller jump does no harm.
 */
export const JUMP_MS = 5_000

/**
 * Compares the clocks of the queue Redis servers with this process's monotonic clock. There is one comparison per
 * model, because the models of a Redis Cluster are on several servers. A reading cannot tell exactly how far the
 * server's clock is ahead of the monotonic clock. It gives a range, whose ends follow from the times of the request and
 * of the answer. Two readings show a jump only if their ranges are more than `JUMP_MS` apart. So neither a slow answer
 * nor a stall of this process looks like a jump.
 */
export function createQueueClocks(monotonicMs: () => number): QueueClocks {
  const leads = new Map<string, { readonly least: number; readonly most: number }>()

  return {
    note(model, { timeMs, sentMs, answeredMs }) {
      const before = leads.get(model)
      const lead = { least: timeMs - answeredMs, most: timeMs - sentMs }
      leads.set(model, lead)
      if (before === undefined) return null
      if (lead.least - before.most > JUMP_MS) return lead.least - before.most
      return before.least - lead.most > JUMP_MS ? lead.most - before.least : 0
    },
    nowMs() {
      if (leads.size === 0) return null
      return Math.floor(monotonicMs() + Math.max(...Array.from(leads.values(), ({ least }) => least)))
    },
  }
}
