import type { HoldAnswer, ReserveCall, ResizeCall } from '#libs/billing-client/billing-calls.ts'
import type { Receipt } from '#apps/billing/money/receipts.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { HOLD_GRACE_MS } from '../support/billing-database.ts'
import {
  countGrowth,
  hasRate,
  keepBudget,
  openBudget,
  presentRate,
  type Account,
  type Books,
  type Budget,
  type Hold,
  type Key,
} from './money-books.ts'
import { MODELS } from './money-steps.ts'

/** An answer with the decoded receipt, and without the retry-after. */
export type ModelAnswer =
  | Exclude<HoldAnswer, { status: 'granted' | 'key-rate' }>
  | { status: 'key-rate' }
  | (Omit<Extract<HoldAnswer, { status: 'granted' }>, 'receipt'> & { receipt: Receipt })

type Refusal = Exclude<ModelAnswer, { status: 'granted' }>

const CONFLICT = { status: 'conflict' } as const

/**
 * The model of billing's rules for holds: the rules written a second time, for one call at a time, in BigInt. The
 * functions in `sql/` must agree with it.
 */
export function createHoldModel(books: Books, nowMs: () => number) {
  function reserve(call: ReserveCall): ModelAnswer {
    const known = books.reservations.get(call.reservationId)
    if (known) {
      const isSame = known.state === 'held' && known.hold !== null && isSameCall(known.hold.call, call)
      return isSame && known.hold ? toGranted(known.hold, call) : CONFLICT
    }
    const key = books.keys.find(({ id }) => id === call.keyId)
    if (key === undefined || !isWorking(key, nowMs())) return { status: 'key-invalid' }
    const model = MODELS.find(({ id }) => id === call.model)
    const price = priceAt(books, call.model, nowMs())
    if (!model || !price || (key.models !== null && !key.models.includes(model.id))) {
      return { status: 'model-unknown' }
    }
    const rate = presentRate(books, key.id, nowMs())
    const { choices = 1 } = call
    const isMost = key.requestsPerMinute !== null && rate.requests + choices > key.requestsPerMinute
    if ((rate.requests > 0 && isMost) || isRateFull(key)) return { status: 'key-rate' }

    const budget = openBudget(books, key, nowMs())
    const payer = { account: key.account, key, budget, price, amount: 0n }
    const paid = afford(payer, toWanted(payer, call))
    if ('status' in paid) return paid
    const tokens = call.inputTokens + paid.granted
    const isRated = hasRate(key)
    const hold: Hold = {
      account: key.account,
      call,
      price,
      budget,
      madeMs: nowMs(),
      counted: isRated ? { minute: rate.minute, tokens, requests: choices } : null,
      exact: null,
      amount: 0n,
      granted: 0,
      clamped: false,
      deadlineMs: call.deadlineMs,
    }
    take(hold, paid)
    keepBudget(books, key, { budget, nowMs: nowMs() })
    if (isRated) {
      const { minute, requests } = rate
      books.rates.set(key.id, { minute, requests: requests + choices, tokens: rate.tokens + tokens })
    }
    books.reservations.set(call.reservationId, { state: 'held', hold, usage: null })
    return toGranted(hold, call)
  }

  function resize(call: ResizeCall): ModelAnswer {
    const hold = openHold(call.reservationId)
    if (hold === null) return CONFLICT
    const { inputTokens } = call
    return inputTokens === undefined ? grow(hold, call) : replace(hold, { ...call, inputTokens })
  }

  function replace(hold: Hold, call: ResizeCall & { inputTokens: number }): ModelAnswer {
    const { inputTokens, outputTokens, choices } = call
    if (hold.exact !== null) {
      const isSame = hold.exact.inputTokens === inputTokens && hold.exact.outputTokens === outputTokens
      return isSame ? toGranted(hold) : CONFLICT
    }
    const key = keyOf(hold)
    if (!isWorking(key, nowMs())) return { status: 'key-invalid' }
    const most = outputLimit({ model: hold.call.model, inputTokens, outputTokens, choices })
    const paid = afford({ ...hold, key }, { inputTokens, most, atLeast: 0 })
    if ('status' in paid) return paid
    const more = inputTokens + paid.granted - hold.call.inputTokens - hold.granted
    countGrowth(books, { hold, key, nowMs: nowMs() }, more)
    take(hold, paid)
    hold.exact = { inputTokens, outputTokens }
    return toGranted(hold)
  }

  function grow(hold: Hold, call: ResizeCall): ModelAnswer {
    const key = keyOf(hold)
    if (!isWorking(key, nowMs())) return { status: 'key-invalid' }
    const { inputTokens } = hold.exact ?? hold.call
    const { outputTokens, choices } = call
    const most = outputLimit({ model: hold.call.model, inputTokens, outputTokens, choices })
    if (most > hold.granted) {
      if (isRateFull(key)) return { status: 'key-rate' }
      const paid = afford({ ...hold, key }, { inputTokens, most, atLeast: hold.granted + 1 })
      if ('status' in paid) return paid
      countGrowth(books, { hold, key, nowMs: nowMs() }, paid.granted - hold.granted)
      take(hold, paid)
    }
    hold.deadlineMs = Math.max(hold.deadlineMs, call.deadlineMs ?? 0)
    return toGranted(hold)
  }

  function release(id: string): boolean {
    const known = books.reservations.get(id)
    if (!known) {
      books.reservations.set(id, { state: 'released', hold: null, usage: null })
      return true
    }
    if (known.state === 'held' && known.hold) {
      free(known.hold)
      known.state = 'released'
      const { counted, call } = known.hold
      const rate = books.rates.get(call.keyId)
      if (counted && rate?.minute === counted.minute) {
        rate.requests -= counted.requests
        rate.tokens -= counted.tokens
      }
    }
    return known.state === 'released'
  }

  /** Returns the number of expired holds. */
  function expire(): number {
    let expired = 0
    for (const known of books.reservations.values()) {
      if (known.state !== 'held' || !known.hold) continue
      const settledUntilMs = books.watermarks.get(known.hold.call.model) ?? 0
      if (known.hold.deadlineMs + HOLD_GRACE_MS + 30_000 >= settledUntilMs) continue
      free(known.hold)
      known.state = 'expired'
      expired += 1
    }
    return expired
  }

  /** Removes a reservation that was not settled, as a restore from a backup does. */
  function forget(id: string): void {
    const known = books.reservations.get(id)
    if (!known || known.usage !== null) return
    if (known.state === 'held' && known.hold) free(known.hold)
    books.reservations.delete(id)
  }

  function isRateFull(key: Key): boolean {
    const { tokens } = presentRate(books, key.id, nowMs())
    return key.tokensPerMinute !== null && tokens >= key.tokensPerMinute
  }

  function openHold(id: string): Hold | null {
    const known = books.reservations.get(id)
    return known?.state === 'held' ? known.hold : null
  }

  function keyOf(hold: Hold): Key {
    const key = books.keys.find(({ id }) => id === hold.call.keyId)
    if (key === undefined) throw new Error('a hold of an unknown key')
    return key
  }

  return {
    reserve: (calls: readonly ReserveCall[]) => calls.map(reserve),
    resize: (calls: readonly ResizeCall[]) => calls.map(resize),
    release: (ids: readonly string[]) => ids.map(release),
    expire,
    forget,
  }
}

type Payer = Pick<Hold, 'account' | 'budget' | 'price' | 'amount'> & { key: Key }

/**
 * Returns the grant that the account and the budget can pay, where the present amount of the hold counts as available.
 */
function afford(
  { account, key, budget, price, amount }: Payer,
  wanted: { inputTokens: number; most: number; atLeast: number },
): { granted: number; needed: bigint; clamped: boolean } | Refusal {
  const { inputTokens, most, atLeast } = wanted
  const ofAccount = account.posted - account.held
  const ofKey = budgetLeft(key, budget)
  const outputFor = (nano: bigint) => {
    if (nano < 0n) return null
    const output = affordableOutput(toNanoCredits(nano), price.prices, { input: inputTokens, limit: most })
    return output === null || (output === 0 && most > 0) || output < atLeast ? null : output
  }
  const granted = outputFor((ofKey !== null && ofKey < ofAccount ? ofKey : ofAccount) + amount)
  if (granted !== null) {
    const needed = priceTokens({ input: inputTokens, cachedInput: 0, output: granted }, price.prices)
    return { granted, needed, clamped: granted < most }
  }
  if (budget !== null && ofKey !== null && outputFor(ofAccount + amount) !== null) {
    const availableNano = toNanoCredits(ofKey < 0n ? 0n : ofKey)
    return { status: 'key-limit', availableNano, heldNano: toNanoCredits(budget.held) }
  }
  return {
    status: 'insufficient-credits',
    availableNano: toNanoCredits(ofAccount),
    heldNano: toNanoCredits(account.held),
  }
}

/**
 * Returns the output that a reserve asks for: all of it if its price is at most an eighth of what can be paid,
 * otherwise the expected output.
 */
function toWanted({ account, key, budget, price }: Payer, call: ReserveCall) {
  const { inputTokens, rolling } = call
  const all = outputLimit(call)
  if (rolling === undefined) return { inputTokens, most: all, atLeast: 0 }
  const expected = Math.min(all, rolling.expectedTokens)
  const free = account.posted - account.held
  const left = budgetLeft(key, budget)
  const cost = priceTokens({ input: inputTokens, cachedInput: 0, output: all }, price.prices)
  const isRich = cost * 8n <= (left !== null && left < free ? left : free)
  const most = isRich ? all : expected
  return { inputTokens, most, atLeast: Math.min(most, rolling.leastTokens) }
}

/** Returns what is left of the key's limit. Null if no budget counts the hold, or if the key has no limit any more. */
function budgetLeft(key: Key, budget: Budget | null): bigint | null {
  return budget === null || key.limit === null ? null : key.limit.nano - budget.spent - budget.held
}

function take(hold: Hold, paid: { granted: number; needed: bigint; clamped: boolean }): void {
  hold.account.held += paid.needed - hold.amount
  if (hold.budget) hold.budget.held += paid.needed - hold.amount
  hold.amount = paid.needed
  hold.granted = paid.granted
  hold.clamped = paid.clamped
}

function free({
  account,
  budget,
  amount,
}: {
  account: Account
  budget: Budget | null
  amount: bigint
}): void {
  account.held -= amount
  if (budget) budget.held -= amount
}

/** Returns the most output that a call may have. The model's limits are limits of each choice. */
function outputLimit(
  call: Pick<ReserveCall, 'model' | 'inputTokens' | 'outputTokens'> & { choices?: number | undefined },
): number {
  const model = MODELS.find(({ id }) => id === call.model)
  if (!model) throw new Error('a hold of an unknown model')
  const room = Math.max(model.contextWindow - call.inputTokens, 1)
  return Math.min(call.outputTokens, (call.choices ?? 1) * Math.min(model.maxOutputTokens, room))
}

function toGranted(hold: Hold, call?: ReserveCall): ModelAnswer {
  const present = call ?? { ...hold.call, ...hold.exact, deadlineMs: hold.deadlineMs }
  const { rolling: _, choices: __, ...reservation } = present
  const amountNano = toNanoCredits(hold.amount)
  const { clamped, granted } = hold
  return {
    status: 'granted',
    amountNano,
    outputTokens: granted,
    clamped,
    prices: hold.price.prices,
    receipt: {
      ...reservation,
      accountId: hold.account.id,
      priceVersion: hold.price.version,
      ...hold.price.prices,
      grantedTokens: granted,
      amountNano,
      clamped,
    },
  }
}

function isWorking(key: Key, nowMs: number): boolean {
  return key.isActive && key.account.isOpen && (key.expiresAtMs === null || key.expiresAtMs > nowMs)
}

function priceAt(books: Books, model: string, nowMs: number) {
  const begun = (books.prices.get(model) ?? []).filter(({ fromMs }) => fromMs <= nowMs)
  return begun.toSorted((a, b) => b.fromMs - a.fromMs)[0]
}

/**
 * Compares two calls without the output that they expect, because a gateway may expect another length when it repeats a
 * call. The number of choices is not compared: it only limits the wanted output, which is compared.
 */
const isSameCall = (a: object, b: object) => withoutTerms(a) === withoutTerms(b)
const withoutTerms = (call: object) => JSON.stringify({ ...call, choices: null, rolling: null })
