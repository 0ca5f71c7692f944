import { formatCredits } from './nano-credits.ts'
import type { TokenPrices } from './price.ts'

/** Prices are whole nano-credits per this many tokens. */
const TOKENS_PER_PRICE = 1_000_000n

/**
 * What a settlement of these tokens costs, in nano-credits: the rule of `apps/billing/sql/functions/price_tokens.sql`,
 * with its one rounding up. `cached` is part of `prompt`.
 */
export function priceUsage(
  tokens: { prompt: number; cached: number; completion: number },
  prices: TokenPrices & { readonly cachedInputPriceNano: bigint },
): bigint {
  const total =
    BigInt(tokens.prompt - tokens.cached) * prices.inputPriceNano +
    BigInt(tokens.cached) * prices.cachedInputPriceNano +
    BigInt(tokens.completion) * prices.outputPriceNano
  return (total + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE
}

/**
 * Nano-credits as a JSON number of credits: the double that is nearest to the exact decimal. Up to 9,007,199 credits all
 * nine decimals survive in it; above, only the text of nano-credits is exact.
 */
export function toCreditsNumber(nano: bigint): number {
  return Number(formatCredits(nano))
}
