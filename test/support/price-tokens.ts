import type { HoldPrices } from '#libs/billing-client/billing-calls.ts'
import { toNanoCredits, type NanoCredits } from '#libs/money/nano-credits.ts'

/** A price is the number of nano-credits for this many tokens. */
const TOKENS_PER_PRICE = 1_000_000n

/**
 * Computes a price by the rule of `apps/billing/sql/functions/price_tokens.sql`. The rule is written here a second
 * time, so that tests can compare billing with it.
 */
export function priceTokens(
  tokens: { input: number; cachedInput: number; output: number },
  prices: HoldPrices,
): NanoCredits {
  const uncached = BigInt(tokens.input - tokens.cachedInput)
  const total =
    uncached * prices.inputPriceNano +
    BigInt(tokens.cachedInput) * prices.cachedInputPriceNano +
    BigInt(tokens.output) * prices.outputPriceNano
  return toNanoCredits((total + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE)
}
