import * as fc from 'fast-check'
import type { BillingDatabase } from '../support/billing-database.ts'
import { runHistory, type Seen } from './money-history.ts'
import type { History } from './money-steps.ts'

/** One history of a hundred meets the rarest rules. */
const MOST_HISTORIES = 3_000

/**
 * Compares PostgreSQL and the model on random histories. `mistake` is the shortest history after which they disagree.
 * `unmet` has the rules that no history used, so nothing is proved about them. While there are such rules, more
 * histories are tried, a quarter of `numRuns` at a time.
 */
export async function checkHistories(
  database: BillingDatabase,
  histories: fc.Arbitrary<History>,
  numRuns: number,
): Promise<{ mistake: string | undefined; unmet: string[] }> {
  const seen: Seen = new Map()
  const property = fc.asyncProperty(histories, (happened) => runHistory(database, happened, seen))
  const most = Math.max(numRuns, MOST_HISTORIES)
  for (let [tried, more] = [0, numRuns]; ; more = Math.ceil(numRuns / 4)) {
    const details = await fc.check(property, { numRuns: more, includeErrorInReport: true })
    tried += more
    const unmet = RULES.filter((rule) => !seen.has(rule))
    if (details.failed || unmet.length === 0 || tried >= most) {
      return { mistake: fc.defaultReportMessage(details), unmet }
    }
  }
}

/** Each rule is a branch of the money functions. */
const RULES = [
  'top-up posted',
  'top-up replayed',
  'top-up conflict',
  'adjust posted',
  'adjust replayed',
  'adjust conflict',
  'adjust insufficient',
  'reserve granted',
  'reserve clamped',
  'reserve insufficient-credits',
  'reserve key-limit',
  'reserve key-rate',
  'reserve key-invalid',
  'reserve model-unknown',
  'reserve conflict',
  'ask-again granted',
  'ask-again insufficient-credits',
  'resize granted',
  'resize clamped',
  'resize insufficient-credits',
  'resize key-limit',
  'resize key-invalid',
  'resize conflict',
  'release true',
  'release false',
  'settle charged',
  'settle late',
  'settle recovered',
  'settle released',
  'settle void',
  'settle replayed',
  'settle different',
  'settle unknown',
  'sweep 1',
]
