import { z } from 'zod'
import type { Usage } from '#libs/contracts/generation-event.ts'
import { toCreditsNumber } from '#libs/money/price-usage.ts'

/** A field of every usage object. */
export const UsageCost = z
  .number()
  .optional()
  .meta({ description: 'What this request costs, in credits: the number nearest to the exact charge.' })

/** The field `cost` of a usage object; nothing where the gateway does not say it. */
export function toUsageCost({ costNano }: Usage): { cost?: number } {
  return costNano === undefined ? {} : { cost: toCreditsNumber(costNano) }
}
