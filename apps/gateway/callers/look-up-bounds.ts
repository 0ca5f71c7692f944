import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { createTokenBuckets } from '#libs/rate-limit/token-buckets.ts'
import { toNetwork } from '#libs/rate-limit/to-network.ts'

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

export function createLookUpBounds({ nowMs }: { nowMs: () => number }): LookUpBounds {
  const underWayByAddress = new Map<string, number>()
  const unknownByAddress = createTokenBuckets({ perS: UNKNOWN_PER_S, burst: BURST, nowMs })
  let underWay = 0

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
      const retryAfterS = unknownByAddress.waitS(address)
      if (retryAfterS > 0) {
        throw new ApiError('model_busy', 'Too many unknown API keys came from this address; try again.', {
          retryAfterS,
        })
      }
      underWay += 1
      underWayByAddress.set(address, own + 1)
      return (outcome) => {
        leave(address)
        if (outcome === 'unknown') unknownByAddress.take(address)
      }
    },
  }
}
