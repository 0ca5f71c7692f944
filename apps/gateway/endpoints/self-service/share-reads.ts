import { LRUCache } from 'lru-cache'
import type { AccountAnswer, Asker, AskAccount } from '#libs/billing-client/ask-account.ts'
import { ApiError } from '#libs/contracts/api-error.ts'

/** Counts a request. Throws `model_busy` if the key asks more often than allowed. */
type SpendRead = (asker: Asker) => void

const FRESH_MS = 1_000
const MAX_ANSWERS = 500
const MAX_KEYS = 10_000

/**
 * The number of reads that a client may make at once without waiting. A client that reads in a loop gets one read a
 * second.
 */
const BURST = 10

/** Limits each key to one request a second at this gateway, after a burst of ten. This bounds billing's load. */
export function createSpendRead(nowMs: () => number): SpendRead {
  const budgets = new LRUCache<string, { readonly left: number; readonly atMs: number }>({ max: MAX_KEYS })

  return (asker) => {
    const keyId = 'keyId' in asker ? asker.keyId : asker.managementKeyId
    const now = nowMs()
    const budget = budgets.get(keyId) ?? { left: BURST, atMs: now }
    const left = Math.min(BURST, budget.left + (now - budget.atMs) / FRESH_MS)
    budgets.set(keyId, { left: left < 1 ? left : left - 1, atMs: now })
    if (left >= 1) return
    throw new ApiError(
      'model_busy',
      'This key asks for its own data too often: one request a second is served.',
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
}): AskAccount {
  const { ask, spend, nowMs } = deps
  const answers = new LRUCache<string, { readonly answer: Promise<AccountAnswer>; readonly untilMs: number }>(
    { max: MAX_ANSWERS },
  )

  return async (...question) => {
    const [, asker] = question
    const name = JSON.stringify(question)
    const known = answers.get(name)
    if (known !== undefined && known.untilMs > nowMs()) return await known.answer
    spend(asker)
    const answer = ask(...question).catch((error: unknown) => {
      answers.delete(name)
      throw error
    })
    answers.set(name, { answer, untilMs: nowMs() + FRESH_MS })
    return await answer
  }
}
