import type { Receipt } from '#apps/billing/money/receipts.ts'
import type { Settled } from '#apps/billing/money/money.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { FREE_TOKENS } from '../support/billing-database.ts'
import {
  keepBudget,
  openBudget,
  post,
  presentRate,
  type Books,
  type Hold,
  type Price,
  type Reservation,
} from './money-books.ts'

/** A settlement, and its receipt if the receipt is genuine. */
export type ModelSettlement = { readonly entry: Settlement; readonly receipt: Receipt | null }

/**
 * The model of billing's rules for settlements, which are written here a second time. The functions in `sql/` must
 * agree with it.
 */
export function createSettlementModel(books: Books, nowMs: () => number) {
  function settle({ entry, receipt }: ModelSettlement, isRecovered: boolean): Settled {
    const known = books.reservations.get(entry.id)
    const isPaid = entry.outcome === 'completed' || entry.outcome === 'cancelled'
    if (known === undefined || known.hold === null) {
      return answer(entry, known !== undefined && !isPaid ? 'void' : 'unknown', { cost: 0n, charged: 0n })
    }
    const numbers = numbersOf(entry)
    if (known.usage !== null) {
      return answer(entry, known.usage.numbers === numbers ? 'replayed' : 'different', known.usage)
    }
    const { hold, state } = known
    const used = {
      input: entry.promptTokens,
      cachedInput: entry.cachedTokens,
      output: entry.completionTokens,
    }
    const isFree = !isPaid && (state === 'released' || takeFree(hold, entry))
    const cost = isFree ? 0n : priceTokens(used, hold.price.prices)
    const charged = charge(known, hold, { cost, held: heldFor(hold, receipt) })
    known.usage = { numbers, cost, charged, settledMs: nowMs() }
    if (state === 'released') return answer(entry, isPaid ? 'released' : 'void', known.usage)
    giveTokensBack(hold, entry)
    known.state = 'settled'
    const result = state === 'held' ? 'charged' : isRecovered ? 'recovered' : 'late'
    return answer(entry, result, known.usage)
  }

  /** Returns whether a settlement without payment is free. A fault is as long as the account's faults of the hour are few. */
  function takeFree({ account }: Hold, { outcome, promptTokens, completionTokens }: Settlement): boolean {
    if (outcome !== 'fault') return true
    const hour = Math.floor(nowMs() / 3_600_000)
    const tokens = (account.free?.hour === hour ? account.free.tokens : 0) + promptTokens + completionTokens
    if (tokens > FREE_TOKENS) return promptTokens + completionTokens === 0
    account.free = { hour, tokens }
    return true
  }

  /** Charges the cost, but never more than the hold or than the account has. Returns the charge. */
  function charge(known: Reservation, hold: Hold, { cost, held }: { cost: bigint; held: bigint }): bigint {
    const { account, budget, amount } = hold
    if (known.state === 'held') {
      account.held -= amount
      if (budget) budget.held -= amount
    }
    const charged = known.state === 'released' ? 0n : least(cost, held, account.posted - account.held)
    account.posted -= charged
    if (budget) budget.spent += charged
    post(books, 'charge', charged)
    post(books, 'write-off', cost - charged)
    return charged
  }

  /** Takes unused tokens from the last minute that counted them. Tokens that no minute counted count now. */
  function giveTokensBack({ counted, call, exact, granted }: Hold, entry: Settlement): void {
    const rate = books.rates.get(call.keyId)
    if (counted === null || rate === undefined) return
    const { inputTokens } = exact ?? call
    const unused = inputTokens + granted - entry.promptTokens - entry.completionTokens
    if (unused < 0) {
      const present = presentRate(books, call.keyId, nowMs())
      books.rates.set(call.keyId, { ...present, tokens: present.tokens - unused })
    } else if (rate.minute === counted.minute) {
      rate.tokens = Math.max(0, rate.tokens - Math.min(unused, counted.tokens))
    }
  }

  function answer(
    entry: Settlement,
    result: Settled['result'],
    money: { cost: bigint; charged: bigint },
  ): Settled {
    if (['unknown', 'released', 'different'].includes(result)) {
      books.alarms.add(`${entry.id} ${result} ${numbersOf(entry)}`)
    }
    return { result, costNano: money.cost, chargedNano: toNanoCredits(money.charged) }
  }

  /**
   * Adds the reservation of a receipt. Returns false if the reservation is known, or if its account or its price is
   * unknown.
   */
  function recover({ entry, receipt }: ModelSettlement): boolean {
    if (receipt === null || books.reservations.has(entry.id)) return false
    const account = books.accounts.find(({ id }) => id === receipt.accountId)
    const price = books.prices.get(receipt.model)?.find((known) => isPriceOf(known, receipt))
    if (!account || !price) return false
    const { reservationId, keyId, model, inputTokens, outputTokens, deadlineMs } = receipt
    const key = books.keys.find(({ id }) => id === keyId)
    const periodMs = Math.min(deadlineMs, nowMs())
    const budget = key?.account === account ? openBudget(books, key, periodMs) : null
    if (key) keepBudget(books, key, { budget, nowMs: periodMs })
    const hold: Hold = {
      account,
      call: { reservationId, keyId, model, inputTokens, outputTokens, deadlineMs },
      price,
      budget,
      madeMs: nowMs(),
      counted: null,
      exact: null,
      amount: receipt.amountNano,
      granted: receipt.grantedTokens,
      clamped: receipt.clamped,
      deadlineMs,
    }
    books.reservations.set(entry.id, { state: 'expired', hold, usage: null })
    return true
  }

  return {
    settle(settlements: readonly ModelSettlement[]): Settled[] {
      const recovered = new Set(settlements.filter(recover).map(({ entry }) => entry.id))
      return settlements.map((settlement) => settle(settlement, recovered.has(settlement.entry.id)))
    },
  }
}

/** Compares only the prices, because after a restore the version's number may belong to other prices. */
function isPriceOf({ prices }: Price, receipt: Receipt): boolean {
  return (
    prices.inputPriceNano === receipt.inputPriceNano &&
    prices.cachedInputPriceNano === receipt.cachedInputPriceNano &&
    prices.outputPriceNano === receipt.outputPriceNano
  )
}

/** Returns the amount of a hold. The database may have lost the growth of the hold, which its receipt has. */
function heldFor({ account, price, amount }: Hold, receipt: Receipt | null): bigint {
  const isOfHold = receipt?.accountId === account.id && isPriceOf(price, receipt)
  return isOfHold && receipt.amountNano > amount ? receipt.amountNano : amount
}

/**
 * Returns the numbers of a settlement that must be equal in a repetition. The settling process need not be the same.
 */
function numbersOf({ epoch, outcome, promptTokens, cachedTokens, completionTokens }: Settlement): string {
  return [epoch, outcome, promptTokens, cachedTokens, completionTokens].join(' ')
}

function least(...amounts: readonly bigint[]): bigint {
  return amounts.reduce((low, amount) => (amount < low ? amount : low))
}
