import { LRUCache } from 'lru-cache'

/** Token buckets with one rate, by name: of an account, a key or an address. */
export type TokenBuckets = {
  /** Returns how many seconds it takes until the bucket has `amount`; 0 if it has. */
  waitS(name: string, amount?: number): number
  /**
   * Takes `amount` from the bucket. Requests that are answered at the same time have all passed their check, so a bucket
   * may owe what it does not have, but at most one burst.
   */
  take(name: string, amount?: number): void
}

/** The buckets that were used least recently are forgotten, so they are full when they are used again. */
const MOST_BUCKETS = 20_000

/** Each bucket is full with `burst` at first, and gets `perS` per second until it is full again. */
export function createTokenBuckets(options: {
  perS: number
  burst: number
  nowMs: () => number
}): TokenBuckets {
  const { perS, burst, nowMs } = options
  const buckets = new LRUCache<string, { readonly left: number; readonly atMs: number }>({
    max: MOST_BUCKETS,
  })

  function read(name: string): number {
    const known = buckets.get(name)
    return known === undefined ? burst : Math.min(burst, known.left + (perS * (nowMs() - known.atMs)) / 1_000)
  }

  return {
    waitS: (name, amount = 1) => Math.max(0, amount - read(name)) / perS,
    take(name, amount = 1) {
      buckets.set(name, { left: Math.max(-burst, read(name) - amount), atMs: nowMs() })
    },
  }
}
