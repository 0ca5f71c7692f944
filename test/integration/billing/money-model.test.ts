import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBillingDatabase, type BillingDatabase } from './billing-database.ts'
import { runHistory, type Seen } from './money-history.ts'
import { history } from './money-steps.ts'

// Random histories happen to PostgreSQL and to a model of the same rules in BigInt.

/** `npm run test:soak` asks for more. */
const HISTORIES = Number(process.env['MILLRACE_TEST_HISTORIES'] ?? 500)

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

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterAll(() => database.close())

test(
  'every history leaves PostgreSQL and the model with the same money',
  { timeout: 1_800_000 },
  async () => {
    const seen: Seen = new Map()
    const property = fc.asyncProperty(history, (happened) => runHistory(database, happened, seen))
    const details = await fc.check(property, { numRuns: HISTORIES, includeErrorInReport: true })
    expect(fc.defaultReportMessage(details)).toBeUndefined()
    // Histories that never met a rule prove nothing about it.
    expect(RULES.filter((rule) => !seen.has(rule))).toEqual([])
  },
)
