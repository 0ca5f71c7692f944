import { LRUCache } from 'lru-cache'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { toNetwork } from './to-network.ts'

/**
 * Bounds the look-ups of keys that are not known to be real. Anybody can make up a well-formed key, because the
 * algorithm of a key's checksum is public.
 */
export type LookUpBounds = {
  /**
   * Begins a look-up, and returns the function that ends it. Throws `BillingUnavailable` when too many look-ups are
   * under way, and an `ApiError` `model_busy` when too many keys from this address were unknown.
   */
  enter(address: string): (outcome: 'found' | 'unknown' | 'failed') => void
}

/**
 * The most look-ups under way for keys that are not known to be real. A gateway has at most 1,000 look-ups under way
 * (`createAuthenticate`). So while billing is slow, 250 of them are left for known keys.
 */
const MAX_UNDER_WAY = 750
/** The most look-ups under way for one address, so that no address can use all of them. */
const MAX_OF_ADDRESS = 250

/**
 * The unknown keys that one address may send per second. This is enough for many clients with one address, for example
 * behind an untrusted proxy, because clients send few unknown keys.
 */
const UNKNOWN_PER_S = 100
const BURST = 1_000
const MAX_ADDRESSES = 10_000

export function createLookUpBounds({ nowMs }: { nowMs: () => number }): LookUpBounds {
  const underWayByAddress = new Map<string, number>()
  const unknownByAddress = new LRUCache<string, { count: number; atMs: number }>({ max: MAX_ADDRESSES })
  let underWay = 0

  function readUnknown(address: string): number {
    const { count, atMs } = unknownByAddress.get(address) ?? { count: 0, atMs: nowMs() }
    return Math.max(0, count - (UNKNOWN_PER_S * (nowMs() - atMs)) / 1_000)
  }

  function leave(address: string): void {
    underWay -= 1
    const left = (underWayByAddress.get(address) ?? 0) - 1
    if (left > 0) underWayByAddress.set(address, left)
    else underWayByAddress.delete(address)
  }

  return {
    enter(given) {
      const address = toNetwork(given)
      const own = underWayByAddress.get(address) ?? 0
      if (underWay >= MAX_UNDER_WAY || own >= MAX_OF_ADDRESS) {
        throw new BillingUnavailable('too many look-ups of API keys are under way')
      }
      const excess = readUnknown(address) + 1 - BURST
      if (excess > 0) {
        throw new ApiError('model_busy', 'Too many unknown API keys came from this address; try again.', {
          retryAfterS: excess / UNKNOWN_PER_S,
        })
      }
      underWay += 1
      underWayByAddress.set(address, own + 1)
      return (outcome) => {
        leave(address)
        if (outcome !== 'unknown') return
        unknownByAddress.set(address, { count: readUnknown(address) + 1, atMs: nowMs() })
      }
    },
  }
}
