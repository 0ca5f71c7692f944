import * as fc from 'fast-check'
import type { BillingDatabase } from '../support/billing-database.ts'
import { runHistory, type Seen } from './money-history.ts'
import type { History } from './money-steps.ts'

/** Some rules are so rare that a few hundred histories may not meet them. */
const MOST_TIMES = 10

/**
 * `mistake`: the shortest history after which PostgreSQL and the model disagree; `unmet`: rules that no history used, so
 * that nothing is proved about them. While there are any, `numRuns` more histories are tried, ten times as many at most.
 */
export async function checkHistories(
  database: BillingDatabase,
  histories: fc.Arbitrary<History>,
  numRuns: number,
): Promise<{ mistake: string | undefined; unmet: string[] }> {
  const seen: Seen = new Map()
  const property = fc.asyncProperty(histories, (happened) => runHistory(database, happened, seen))
  for (let times = 1; ; times += 1) {
    const details = await fc.check(property, { numRuns, includeErrorInReport: true })
    const unmet = RULES.filter((rule) => !seen.has(rule))
    if (details.failed || unmet.length === 0 || times === MOST_TIMES) {
      return { mistake: fc.defaultReportMessage(details), unmet }
    }
  }
}

/** Each of them a branch of the money functions. */
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
  'replace granted',
  'replace clamped',
  'replace insufficient-credits',
  'replace key-limit',
  'replace key-invalid',
  'replace conflict',
  'extend granted',
  'extend clamped',
  'extend insufficient-credits',
  'extend key-limit',
  'extend key-invalid',
  'extend conflict',
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
