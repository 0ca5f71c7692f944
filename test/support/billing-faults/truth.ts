import type { HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { toNanoCredits, type NanoCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'

export type Granted = Extract<HoldAnswer, { status: 'granted' }>

/** The facts about one reservation that the clients know from the answers that they received. */
export type Truth = {
  readonly accountId: string
  /** Null if the answer was a refusal or was not awaited. A call that was still running may have made a hold since. */
  hold: Granted | null
  /** True after an extend. A late repetition of the extend may have raised the amount further. */
  extended: boolean
  end: 'left' | 'released' | 'settled' | 'settled-after-release'
  settlement: Settlement | null
}

/** The final state of a reservation in the database. */
export type Found = {
  readonly id: string
  readonly accountId: string | null
  readonly state: string
  readonly amountNano: bigint | null
  readonly chargedNano: bigint | null
  readonly late: boolean | null
  /** The number of charges in the ledger. */
  readonly charges: number
}

/**
 * Compares a reservation in the database (`found`) with the facts that the clients know about it (`truth`). Returns the
 * difference, or null if the two agree. Call this function when all settlements have been delivered and all old holds
 * have expired.
 */
export function compare(truth: Truth, found: Found | undefined): string | null {
  const { hold } = truth
  if (hold === null) return found === undefined || isUnused(found) ? null : 'never granted, yet used'
  if (found === undefined) return 'an acknowledged reserve is lost'
  if (found.accountId !== truth.accountId) return 'of another account'
  if (!hasAmount(truth, hold, found)) return `${found.amountNano} held, ${hold.amountNano} acknowledged`
  switch (truth.end) {
    case 'left':
      return found.state === 'expired' && isUnused(found) ? null : `left alone, yet ${found.state}`
    case 'released':
      return found.state === 'released' && isUnused(found) ? null : `released, yet ${found.state}`
    case 'settled-after-release':
      return found.state === 'released' && found.chargedNano === 0n && found.charges === 0
        ? null
        : `released before it was settled, yet ${found.state} and charged ${found.chargedNano}`
    case 'settled':
      return compareCharge(truth, hold, found)
  }
}

function compareCharge({ settlement }: Truth, hold: Granted, found: Found): string | null {
  if (settlement === null) return 'the test has no settlement'
  if (found.state !== 'settled') return `an acknowledged settlement is lost: ${found.state}`
  const cost = costOf(hold, settlement)
  const held = found.amountNano ?? 0n
  const expected = cost < held ? cost : held
  if (found.chargedNano !== expected) return `charged ${found.chargedNano}, not ${expected}`
  if (found.charges !== (expected > 0n ? 1 : 0)) return `${found.charges} charges in the ledger`
  return found.late === true ? 'late, although its hold was open' : null
}

/** Returns the cost of a settlement at the prices of its reservation. */
function costOf({ prices }: Granted, settlement: Settlement): NanoCredits {
  if (settlement.outcome === 'fault' || settlement.outcome === 'never-ran') return toNanoCredits(0n)
  const { promptTokens, cachedTokens, completionTokens } = settlement
  return priceTokens({ input: promptTokens, cachedInput: cachedTokens, output: completionTokens }, prices)
}

function isUnused({ state, chargedNano, charges }: Found): boolean {
  return state !== 'held' && chargedNano === null && charges === 0
}

function hasAmount({ extended }: Truth, hold: Granted, { amountNano }: Found): boolean {
  if (amountNano === null) return false
  return extended ? amountNano >= hold.amountNano : amountNano === hold.amountNano
}
