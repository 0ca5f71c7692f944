import { LRUCache } from 'lru-cache'
import { ApiError } from '#libs/contracts/api-error.ts'

/** The sender of a request. `address` is the address of the client, or of a proxy that is not trusted. */
type Sender = { readonly account: string; readonly address: string }

/** Bounds the cost of requests that are free for their callers. */
export type SenderRate = {
  /** Throws an `ApiError` `model_busy` if too many requests of this sender were noted. */
  check(sender: Sender): void
  /** Counts a request, or `amount` of something that the request costs. */
  note(sender: Sender, amount?: number): void
}

/**
 * The length of a burst. A sender may send at once all requests that `perS` allows in this many seconds. Such a burst
 * comes, for example, from a client under development, or from a batch with the same mistake in all of its requests.
 */
const BURST_S = 10

/**
 * The share of an account's rate (`perS`) that a single address may use. A machine that repeats a mistake thus leaves
 * half of the rate to the account's other machines.
 */
const SHARE_OF_ADDRESS = 1 / 2

/**
 * The largest number of accounts whose requests are counted, and the largest number of counted pairs of account and
 * address. The two lists are separate, so that a flood of addresses evicts no account.
 */
const MAX_COUNTED = 20_000

/**
 * Counts, for each account, the requests that are noted with `note`. After a burst, `perS` requests of an account may
 * be noted per second, and from a single address half as many. The counts fall with time. Beyond `MAX_COUNTED`, the
 * least recently used counts are forgotten. `tooMany` is the message of the error that `check` throws.
 */
export function createSenderRate({
  perS,
  tooMany,
  nowMs,
}: {
  perS: number
  tooMany: string
  nowMs: () => number
}): SenderRate {
  type Count = { readonly noted: number; readonly atMs: number }
  const accounts = new LRUCache<string, Count>({ max: MAX_COUNTED })
  const addresses = new LRUCache<string, Count>({ max: MAX_COUNTED })
  const countsOf = ({ account, address }: Sender) => [
    { counts: accounts, name: account, rate: perS },
    { counts: addresses, name: `${account} ${address}`, rate: perS * SHARE_OF_ADDRESS },
  ]

  function read({ counts, name, rate }: ReturnType<typeof countsOf>[number]): number {
    const { noted, atMs } = counts.get(name) ?? { noted: 0, atMs: 0 }
    return Math.max(0, noted - (rate * (nowMs() - atMs)) / 1_000)
  }

  return {
    check(sender) {
      const waits = countsOf(sender).map((count) => (read(count) + 1) / count.rate - BURST_S)
      const retryAfterS = Math.max(...waits)
      if (retryAfterS > 0) throw new ApiError('model_busy', tooMany, { retryAfterS })
    },
    note(sender, amount = 1) {
      for (const count of countsOf(sender)) {
        // Requests that are answered at the same time all pass the check, so a count may exceed its burst. The count is
        // bounded to twice the burst.
        const noted = Math.min(read(count) + amount, 2 * BURST_S * count.rate)
        count.counts.set(count.name, { noted, atMs: nowMs() })
      }
    },
  }
}
