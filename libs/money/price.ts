import type { NanoCredits } from './nano-credits.ts'

/** Prices are whole nano-credits per this many tokens. */
const TOKENS_PER_PRICE = 1_000_000n

export type TokenPrices = { readonly inputPriceNano: bigint; readonly outputPriceNano: bigint }

/**
 * Returns how many output tokens `amount` pays for after `tokens.input` input tokens, at most `tokens.limit`. Returns
 * `null` if the input alone costs more than `amount`. This is the inverse of
 * `apps/billing/sql/functions/price_tokens.sql` without cache discount: input and result together never cost more than
 * `amount`. If output tokens are free, the result is `tokens.limit`.
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
