import { z } from 'zod'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'

const EXPECTED = 'expected a whole number of at least 1'

/** A limit on the output, in tokens. */
export const OutputLimit = z
  .number(EXPECTED)
  .refine((value) => Number.isInteger(value) && value >= 1, EXPECTED)
  .meta({ type: 'integer', minimum: 1 })

/**
 * Returns the smallest of the limits in `aliases`, but at most the model's maximum. `aliases` has the values of all
 * fields of a request that may limit the output. Returns null if none of these fields is given.
 */
export function toMaxOutputTokens(aliases: readonly (number | undefined)[], model: ModelSpec): number | null {
  const given = aliases.filter((limit) => limit !== undefined)
  return given.length === 0 ? null : Math.min(...given, model.maxOutputTokens)
}
