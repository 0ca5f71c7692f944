import { LRUCache } from 'lru-cache'
import type { AccountAnswer, Asker, AskAccount } from '#libs/billing-client/ask-account.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { createTokenBuckets } from '#libs/rate-limit/token-buckets.ts'

/** Counts a request. Throws `model_busy` if the key, or its account, asks more often than allowed. */
type SpendRead = (account: string, asker: Asker) => void

const FRESH_MS = 1_000
const MAX_ANSWERS = 500

/** The reads that a key may make at once without waiting. A client that reads in a loop gets one read a second. */
const BURST = 10
/** The keys of an account may together make this many times the reads of one key, however many keys it has. */
const KEYS_OF_ACCOUNT = 4

/** Limits the reads of each key and of each account at this gateway. This bounds billing's load. */
export function createSpendRead(nowMs: () => number): SpendRead {
  const keys = createTokenBuckets({ perS: 1, burst: BURST, nowMs })
  const accounts = createTokenBuckets({ perS: KEYS_OF_ACCOUNT, burst: KEYS_OF_ACCOUNT * BURST, nowMs })

  return (account, asker) => {
    const key = 'keyId' in asker ? asker.keyId : asker.managementKeyId
    const retryAfterS = Math.max(keys.waitS(key), accounts.waitS(account))
    if (retryAfterS > 0) {
      const message =
        'This key, or this account, asks for its own data too often: one request a second of a key is served.'
      throw new ApiError('model_busy', message, { retryAfterS })
    }
    keys.take(key)
    accounts.take(account)
  }
}

/**
 * Keeps the answer to a key's read for one second. If the key repeats the same read in this time, it gets the kept
 * answer, and the repetition does not count as a read. A failure is not kept.
 */
export function createShareRead(deps: {
  ask: AskAccount
  spend: SpendRead
  nowMs: () => number
}): (account: string, ...question: Parameters<AskAccount>) => ReturnType<AskAccount> {
  const { ask, spend, nowMs } = deps
  const answers = new LRUCache<string, { readonly answer: Promise<AccountAnswer>; readonly untilMs: number }>(
    { max: MAX_ANSWERS },
  )

  return async (account, ...question) => {
    const [, asker] = question
    const name = JSON.stringify(question)
    const known = answers.get(name)
    if (known !== undefined && known.untilMs > nowMs()) return await known.answer
    spend(account, asker)
    const answer = ask(...question).catch((error: unknown) => {
      answers.delete(name)
      throw error
    })
    answers.set(name, { answer, untilMs: nowMs() + FRESH_MS })
    return await answer
  }
}
