import type { Usage } from '#libs/contracts/generation-event.ts'
import type { Hold } from '#libs/contracts/generation-job.ts'
import { priceUsage } from '#libs/money/price-usage.ts'

/**
 * Returns the amount, in nano-credits, that the settlement of a complete output charges: the price of the usage, but
 * never more than the hold. Returns null if the hold does not name the price of cached input.
 */
export function toCharge(usage: Usage, hold: Hold): bigint | null {
  if (hold.cachedInputPriceNano === undefined) return null
  const { promptTokens: prompt, cachedTokens: cached, completionTokens: completion } = usage
  const cost = priceUsage(
    { prompt, cached, completion },
    {
      inputPriceNano: BigInt(hold.inputPriceNano),
      cachedInputPriceNano: BigInt(hold.cachedInputPriceNano),
      outputPriceNano: BigInt(hold.outputPriceNano),
    },
  )
  const amount = BigInt(hold.amountNano)
  return cost < amount ? cost : amount
}
