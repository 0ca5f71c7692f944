import type { PoolAnswer } from './snapshot.ts'

export type Answers = {
  /** Takes over the answers of a snapshot that is `ageMs` old. */
  publish(answers: Readonly<Record<string, PoolAnswer>>, ageMs: number): void
  /**
   * Returns status `stale` if the snapshot is older than 10 s or missing, and `unknown` if this scaler has no such
   * pool.
   */
  find(pool: string): { status: 'known'; answer: PoolAnswer } | { status: 'stale' } | { status: 'unknown' }
  /** Returns the age of the snapshot in ms; Infinity before the first one. */
  ageMs(): number
  /** Calls the listener with each pool whose target rose from 0. Returns a function that removes the listener. */
  onWake(listener: (pool: string) => void): () => void
}

/** Answers older than this are refused, so that KEDA leaves the replicas as they are. */
export const STALE_MS = 10_000

/** Answers KEDA's questions from the leader's last snapshot, which every scaler keeps in memory. */
export function createAnswers(options: { pools: readonly string[]; nowMs: () => number }): Answers {
  const { nowMs } = options
  const pools = new Set(options.pools)
  const listeners = new Set<(pool: string) => void>()
  let current: Readonly<Record<string, PoolAnswer>> = {}
  let writtenMs = -Infinity

  const ageMs = () => nowMs() - writtenMs

  return {
    publish(answers, ageMs) {
      const before = current
      current = answers
      writtenMs = nowMs() - ageMs
      if (ageMs > STALE_MS) return
      for (const [pool, { target }] of Object.entries(answers)) {
        if (target === 0 || (before[pool]?.target ?? 0) > 0) continue
        for (const listener of listeners) listener(pool)
      }
    },
    find(pool) {
      if (!pools.has(pool)) return { status: 'unknown' }
      const answer = ageMs() > STALE_MS ? undefined : current[pool]
      return answer === undefined ? { status: 'stale' } : { status: 'known', answer }
    },
    ageMs,
    onWake(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
