import { toNanoCredits, type NanoCredits } from './nano-credits.ts'

/** Prices are whole nano-credits per this many tokens. */
const TOKENS_PER_PRICE = 1_000_000n

export type TokenPrices = { readonly inputPriceNano: bigint; readonly outputPriceNano: bigint }

/**
 * The cost of tokens: the products are summed first, then divided and rounded up once. Billing computes holds and
 * charges in SQL (`apps/billing/sql/functions/price_tokens.sql`) by the same monotone formula, so usage within the grant
 * can never cost more than the hold; tests check the two against each other.
 */
export function priceTokens(
  tokens: { input: number; cachedInput: number; output: number },
  prices: TokenPrices & { readonly cachedInputPriceNano: bigint },
): NanoCredits {
  const uncached = BigInt(tokens.input - tokens.cachedInput)
  const total =
    uncached * prices.inputPriceNano +
    BigInt(tokens.cachedInput) * prices.cachedInputPriceNano +
    BigInt(tokens.output) * prices.outputPriceNano
  return toNanoCredits((total + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE)
}

/**
 * The most output tokens that `amount` pays for after an exact input, or `null` when the input alone costs more.
 * The inverse of `priceTokens` without cache discount: `priceTokens(input, result) ≤ amount` always holds.
 * Free output tokens are bounded only by `limit`.
 */
export function affordableOutput(
  amount: NanoCredits,
  prices: TokenPrices,
  tokens: { input: number; limit: number },
): number | null {
  const left = amount * TOKENS_PER_PRICE - BigInt(tokens.input) * prices.inputPriceNano
  if (left < 0n) return null
  if (prices.outputPriceNano === 0n) return tokens.limit
  const affordable = left / prices.outputPriceNano
  return affordable < BigInt(tokens.limit) ? Number(affordable) : tokens.limit
}
