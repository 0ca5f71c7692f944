import { z } from 'zod'

const EXPECTED = 'expected a whole number of at least 1'

/** A limit on the output, in tokens. */
export const OutputLimit = z
  .number(EXPECTED)
  .refine((value) => Number.isInteger(value) && value >= 1, EXPECTED)
  .meta({ type: 'integer', minimum: 1 })
