import type { SimulatedRefusal } from '../../test/support/simulate-queue.ts'

/** `retry-after` has whole seconds. */
const ROUNDING_MS = 1_000
const TOLERANCE = 0.2
const LONGEST_SAID_MS = 59_000

/**
 * Returns the share of the refusals whose `retry-after` differs from the real wait by at most a fifth of it, or by at most
 * a second. Refusals with the longest `retry-after` are left out, because their wait may be longer than the header can
 * express.
 */
export function shareAsTold(refusals: readonly Omit<SimulatedRefusal, 'account'>[]): number {
  const counted = refusals.filter(({ saidMs }) => saidMs < LONGEST_SAID_MS)
  const asTold = counted.filter(
    ({ saidMs, realMs }) => Math.abs(saidMs - realMs) <= Math.max(ROUNDING_MS, TOLERANCE * realMs),
  )
  if (counted.length === 0) throw new Error('nothing was refused')
  return asTold.length / counted.length
}
