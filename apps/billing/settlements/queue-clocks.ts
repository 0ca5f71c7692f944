/** When an observation was made: its time by its Redis server, and between which moments of the monotonic clock. */
export type Reading = { readonly timeMs: number; readonly sentMs: number; readonly answeredMs: number }

export type QueueClocks = {
  /**
   * Returns by how far the clock of the model's server has jumped since the last reading; negative: back; 0: it ran on;
   * null: this is the first one.
   */
  note(model: string, reading: Reading): number | null
  /** The present by the server whose clock is furthest ahead; null: unknown. */
  nowMs(): number | null
}

/** More than this is a jump. Holds end 30 s and more behind the clock, so less does no harm. */
export const JUMP_MS = 5_000

/**
 * Follows the clocks of the queue Redis servers beside this process' monotonic clock, for each model, because the models
 * of a Redis Cluster have several. A server's clock is known as exactly as its answer was quick: a reading bounds its
 * lead over the monotonic clock from both sides, and only bounds that do not meet show a jump. So neither a slow answer
 * nor a stall of this process looks like one.
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
