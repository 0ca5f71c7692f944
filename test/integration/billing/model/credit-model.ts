import { post, type Account, type Books } from './money-books.ts'

export type Credit = {
  readonly kind: 'top-up' | 'adjust'
  readonly account: Account
  readonly idempotencyKey: string
  readonly nano: bigint
}

/** Creates a second implementation of billing's rules for credits and seals, with which `sql/` must agree. */
export function createCreditModel(books: Books) {
  const earlier = new Map<string, bigint>()
  let sealed = { day: '', entries: 0n }
  let sealedInAll = 0n

  return {
    give({ kind, account, idempotencyKey, nano }: Credit): { status: string; posted: bigint } {
      const place = `${kind} ${account.id} ${idempotencyKey}`
      const before = earlier.get(place)
      if (before !== undefined) {
        return { status: before === nano ? 'replayed' : 'conflict', posted: account.posted }
      }
      if (account.posted - account.held + nano < 0n) return { status: 'insufficient', posted: account.posted }
      earlier.set(place, nano)
      account.posted += nano
      post(books, kind === 'top-up' ? 'topup' : 'adjustment', nano < 0n ? -nano : nano)
      return { status: 'posted', posted: account.posted }
    },

    /** Seals a day, once. Returns the day of the newest seal and its number of entries. */
    seal(nowMs: number): { day: string; entries: bigint } {
      const day = new Date(nowMs).toISOString().slice(0, 10)
      if (day > sealed.day) {
        const posted = [...books.ledger.values()].reduce((sum, { entries }) => sum + entries, 0n)
        sealed = { day, entries: posted - sealedInAll }
        sealedInAll = posted
      }
      return sealed
    },
  }
}
