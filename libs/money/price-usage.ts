import { formatCredits } from './nano-credits.ts'
import type { TokenPrices } from './price.ts'

/** Prices are whole nano-credits per this many tokens. */
const TOKENS_PER_PRICE = 1_000_000n

/**
 * Returns the price of a settlement of these tokens, in nano-credits. Follows the rule of
 * `apps/billing/sql/functions/price_tokens.sql`, which rounds up once. `cached` is part of `prompt`.
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
 * Converts nano-credits to a JSON number of credits: the double nearest to the exact decimal. Up to 9,007,199 credits
 * the number keeps all nine decimals. It is not exact for larger amounts; the text of nano-credits is always exact.
 */
export function toCreditsNumber(nano: bigint): number {
  return Number(formatCredits(nano))
}
