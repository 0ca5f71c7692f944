import type { HoldPrices, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import { HOLD_GRACE_MS } from '../support/billing-database.ts'

// The state of the model: the same facts as billing's tables.

export type Account = {
  readonly id: string
  isOpen: boolean
  posted: bigint
  held: bigint
  /** The tokens of faults that were free in an hour. */
  free?: { readonly hour: number; readonly tokens: number }
}

export type Period = 'day' | 'week' | 'month' | 'total'

export type Key = {
  readonly id: string
  readonly account: Account
  isActive: boolean
  expiresAtMs: number | null
  models: readonly string[] | null
  limit: { readonly nano: bigint; readonly period: Period } | null
  requestsPerMinute: number | null
  tokensPerMinute: number | null
}

/** The spent and held amounts of a key with a limit in one period. */
export type Budget = { held: bigint; spent: bigint }

/** The requests and tokens that a key with a rate was granted in its latest minute. */
export type Rate = { minute: number; requests: number; tokens: number }

export type Price = { readonly version: bigint; readonly fromMs: number; readonly prices: HoldPrices }

export type Hold = {
  readonly account: Account
  readonly call: ReserveCall
  readonly price: Price
  budget: Budget | null
  readonly madeMs: number
  /** What counts in the last minute of the key in which the hold counted. */
  counted: { readonly minute: number; readonly tokens: number; readonly requests: number } | null
  exact: { readonly inputTokens: number; readonly outputTokens: number } | null
  amount: bigint
  granted: number
  clamped: boolean
  /** The deadline after all extends. */
  deadlineMs: number
}

export type Reservation = {
  state: 'held' | 'settled' | 'released' | 'expired'
  /** Null for a tombstone, which the release of an unknown id leaves. */
  hold: Hold | null
  usage: {
    readonly numbers: string
    readonly cost: bigint
    readonly charged: bigint
    readonly settledMs: number
  } | null
}

export type Books = {
  readonly accounts: readonly Account[]
  readonly keys: readonly Key[]
  readonly reservations: Map<string, Reservation>
  /** The budgets by key and period. */
  readonly budgets: Map<string, Budget>
  /** The rates by key. */
  readonly rates: Map<string, Rate>
  /** The prices by model, in no order. */
  readonly prices: Map<string, Price[]>
  readonly watermarks: Map<string, number>
  readonly alarms: Set<string>
  /** The posted amounts by kind of entry. */
  readonly ledger: Map<string, { entries: bigint; sum: bigint }>
}

/** Returns the key's rate in the present minute. */
export function presentRate(books: Books, keyId: string, nowMs: number): Rate {
  const minute = Math.floor(nowMs / 60_000)
  const before = books.rates.get(keyId)
  return before?.minute === minute ? before : { minute, requests: 0, tokens: 0 }
}

export const hasRate = (key: Key) => key.requestsPerMinute !== null || key.tokensPerMinute !== null

/** Counts the tokens by which a hold has grown, in the present minute of its key. */
export function countGrowth(books: Books, of: { hold: Hold; key: Key; nowMs: number }, tokens: number): void {
  const { hold, key, nowMs } = of
  if (hold.counted === null && !hasRate(key)) return
  const rate = presentRate(books, key.id, nowMs)
  const known = hold.counted?.minute === rate.minute ? hold.counted : null
  if (tokens <= 0 && known === null) return
  books.rates.set(key.id, { ...rate, tokens: Math.max(0, rate.tokens + tokens) })
  const counted = (known?.tokens ?? 0) + tokens
  hold.counted = { minute: rate.minute, tokens: counted, requests: known?.requests ?? 0 }
}

/** Returns the key's budget of the present period. A key without a limit has none. */
export function openBudget(books: Books, key: Key, nowMs: number): Budget | null {
  if (key.limit === null) return null
  const place = `${key.id} ${periodStart(key.limit.period, nowMs)}`
  return books.budgets.get(place) ?? { held: 0n, spent: 0n }
}

/** Creates the budget at its first hold. */
export function keepBudget(books: Books, key: Key, opened: { budget: Budget | null; nowMs: number }): void {
  if (key.limit === null || opened.budget === null) return
  books.budgets.set(`${key.id} ${periodStart(key.limit.period, opened.nowMs)}`, opened.budget)
}

/**
 * Computes the budget of a key whose limit is new, or has another kind of period: the key's open holds that were made
 * in its present period, and its charges since the period began.
 */
export function countPeriod(books: Books, key: Key, nowMs: number): void {
  const budget = openBudget(books, key, nowMs)
  if (key.limit === null || budget === null) return
  keepBudget(books, key, { budget, nowMs })
  const startMs = toMs(periodStart(key.limit.period, nowMs))
  const own = [...books.reservations.values()].filter(({ hold }) => hold?.call.keyId === key.id)
  for (const { state, hold } of own) {
    if (state !== 'held' || hold === null || hold.madeMs < startMs) continue
    if (hold.budget) hold.budget.held -= hold.amount
    hold.budget = budget
    budget.held += hold.amount
  }
  const begun = [...books.budgets].filter(
    ([place]) => place.startsWith(key.id) && toMs(place.slice(key.id.length + 1)) >= startMs,
  )
  const inPeriod = new Set(begun.map(([, each]) => each))
  const chargedOf = (isCounted: (reservation: Reservation) => boolean) =>
    own.filter(isCounted).reduce((sum, { usage }) => sum + (usage?.charged ?? 0n), 0n)
  const charged = chargedOf(({ usage }) => usage !== null && usage.settledMs >= startMs)
  const known = chargedOf(({ hold }) => hold?.budget != null && inPeriod.has(hold.budget))
  budget.spent = charged > known ? charged : known
}

export function post(books: Books, kind: string, amount: bigint): void {
  if (amount === 0n) return
  const { entries, sum } = books.ledger.get(kind) ?? { entries: 0n, sum: 0n }
  books.ledger.set(kind, { entries: entries + 1n, sum: sum + amount })
}

/** Returns the books as sorted lines, in the form of `readLines`. */
export function toLines(books: Books): string[] {
  return [
    ...books.accounts.map(({ id, posted, held }) => `account ${id}: posted ${posted} held ${held}`),
    ...[...books.budgets].map(([place, { held, spent }]) => `budget ${place}: held ${held} spent ${spent}`),
    ...[...books.rates].map(
      ([id, { minute, requests, tokens }]) => `rate ${id} ${minute}: requests ${requests} tokens ${tokens}`,
    ),
    ...[...books.reservations].map(
      ([id, { state, hold }]) => `reservation ${id}: ${state} amount ${hold?.amount ?? 'none'}`,
    ),
    ...[...books.ledger].map(([kind, { entries, sum }]) => `ledger ${kind}: entries ${entries} sum ${sum}`),
    `alarms: ${books.alarms.size}`,
  ].sort()
}

/**
 * Returns the line of the reconciliation for overdue holds. A reserve that arrives long after its deadline holds
 * credits until the next sweep, and the reconciliation counts it.
 */
export function overdueLines({ reservations, watermarks }: Books): string[] {
  const overdue = [...reservations.values()].filter(({ state, hold }) => {
    const settledUntilMs = watermarks.get(hold?.call.model ?? '') ?? 0
    return state === 'held' && hold !== null && hold.deadlineMs + HOLD_GRACE_MS < settledUntilMs - 330_000
  })
  return overdue.length === 0 ? [] : [`reconciliation: hold-overdue ${overdue.length}`]
}

const toMs = (start: string) => (start === 'ever' ? Number.NEGATIVE_INFINITY : Number(start) * 1_000)

/** Returns the Unix seconds of the period's first moment in UTC; `ever` for the total, which has no first moment. */
function periodStart(period: Period, nowMs: number): string {
  if (period === 'total') return 'ever'
  const now = new Date(nowMs)
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const daysSinceMonday = (now.getUTCDay() + 6) % 7
  const start = {
    day: Date.UTC(year, month, day),
    week: Date.UTC(year, month, day - daysSinceMonday),
    month: Date.UTC(year, month),
  }[period]
  return `${start / 1_000}`
}
