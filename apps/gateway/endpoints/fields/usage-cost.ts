import { z } from 'zod'
import type { Usage } from '#libs/contracts/generation-event.ts'
import { toCreditsNumber } from '#libs/money/price-usage.ts'

/** The field `cost` of every usage object. */
export const UsageCost = z
  .number()
  .optional()
  .meta({ description: 'What this request costs, in credits: the number nearest to the exact charge.' })

/** Returns the field `cost` of a usage object, or no field if the gateway does not report costs. */
export function toUsageCost({ costNano }: Usage): { cost?: number } {
  return costNano === undefined ? {} : { cost: toCreditsNumber(costNano) }
}
