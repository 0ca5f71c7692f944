import { ApiError } from '#libs/contracts/api-error.ts'
import { createTokenBuckets } from '#libs/rate-limit/token-buckets.ts'

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
 * Counts, for each account, the requests that are noted with `note`. After a burst, `perS` requests of an account may
 * be noted per second, and from a single address half as many. The accounts have buckets of their own, so that a flood
 * of addresses evicts no account. `tooMany` is the message of the error that `check` throws.
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
  const open = (rate: number) => createTokenBuckets({ perS: rate, burst: BURST_S * rate, nowMs })
  const accounts = open(perS)
  const addresses = open(perS * SHARE_OF_ADDRESS)
  const toAddress = ({ account, address }: Sender) => `${account} ${address}`

  return {
    check(sender) {
      const retryAfterS = Math.max(accounts.waitS(sender.account), addresses.waitS(toAddress(sender)))
      if (retryAfterS > 0) throw new ApiError('model_busy', tooMany, { retryAfterS })
    },
    note(sender, amount) {
      accounts.take(sender.account, amount)
      addresses.take(toAddress(sender), amount)
    },
  }
}
