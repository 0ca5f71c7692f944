import { LRUCache } from 'lru-cache'
import type { AccountAnswer, Asker, AskAccount } from '#libs/billing-client/ask-account.ts'
import { ApiError } from '#libs/contracts/api-error.ts'

/** Counts a request. Throws `model_busy` if the key, or its account, asks more often than allowed. */
type SpendRead = (account: string, asker: Asker) => void

const FRESH_MS = 1_000
const MAX_ANSWERS = 500
const MAX_KEYS = 10_000

/**
 * The number of reads that a client may make at once without waiting. A client that reads in a loop gets one read a
 * second.
 */
const BURST = 10
/** The keys of an account may together make this many times the reads of one key, however many keys it has. */
const KEYS_OF_ACCOUNT = 4

/**
 * Limits each key to one request a second at this gateway, after a burst of ten, and each account to four times as many.
 * This bounds billing's load.
 */
export function createSpendRead(nowMs: () => number): SpendRead {
  const budgets = new LRUCache<string, { readonly left: number; readonly atMs: number }>({ max: MAX_KEYS })

  /** `cost` is the part of a budget of one read a second that a read takes. */
  function spend(name: string, cost: number): boolean {
    const now = nowMs()
    const budget = budgets.get(name) ?? { left: BURST, atMs: now }
    const left = Math.min(BURST, budget.left + (now - budget.atMs) / FRESH_MS)
    budgets.set(name, { left: left < cost ? left : left - cost, atMs: now })
    return left >= cost
  }

  return (account, asker) => {
    const key = 'keyId' in asker ? asker.keyId : asker.managementKeyId
    if (spend(key, 1) && spend(account, 1 / KEYS_OF_ACCOUNT)) return
    throw new ApiError(
      'model_busy',
      'This key, or this account, asks for its own data too often: one request a second of a key is served.',
      { retryAfterS: 1 },
    )
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
