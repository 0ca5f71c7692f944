import { LRUCache } from 'lru-cache'
import type { Reader } from '#libs/billing-client/caller-reads.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { explainFailure } from './explain-failure.ts'

/** Throws `model_busy` where a key asks more often than is served. */
export type SpendRead = (reader: Reader) => void

const FRESH_MS = 1_000
const MAX_ANSWERS = 500
const MAX_KEYS = 10_000

/** A client that looks at several things at once does not wait; a loop is held to one read a second. */
const BURST = 10

/** Of one key and this gateway one request a second, after a burst of ten; so much, and no more, costs it billing. */
export function createSpendRead(nowMs: () => number): SpendRead {
  const budgets = new LRUCache<string, { readonly left: number; readonly atMs: number }>({ max: MAX_KEYS })

  return (reader) => {
    const keyId = 'keyId' in reader ? reader.keyId : reader.managementKeyId
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

/** The same question of a key gets the same answer for a second, and counts as one read. */
export function createShareRead<Question extends object, Answer>(deps: {
  read: (reader: Reader, question: Question) => Promise<Answer>
  spend: SpendRead
  nowMs: () => number
}): (reader: Reader, question: Question) => Promise<Answer> {
  const { read, spend, nowMs } = deps
  const answers = new LRUCache<string, { readonly answer: Promise<Answer>; readonly untilMs: number }>({
    max: MAX_ANSWERS,
  })

  return async (reader, question) => {
    const name = JSON.stringify([reader, question])
    const known = answers.get(name)
    if (known !== undefined && known.untilMs > nowMs()) return await known.answer
    spend(reader)
    const answer = read(reader, question).catch((error: unknown) => {
      answers.delete(name)
      throw explainFailure(error, 'Accounts cannot be read at the moment.')
    })
    answers.set(name, { answer, untilMs: nowMs() + FRESH_MS })
    return await answer
  }
}
