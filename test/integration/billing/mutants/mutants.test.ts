import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { only, openBillingDatabase, type BillingDatabase } from '../support/billing-database.ts'
import { runHistory } from '../model/money-history.ts'
import { MUTANTS, PARALLEL_MUTANTS, type Mutant } from './money-mutants.ts'
import { history } from '../model/money-steps.ts'
import { expireDuringExtend, reserveBehindLock } from '../support/parallel-calls.ts'

// The test of the tests: those that prove the money functions right must fail when the functions are wrong.

/** The same histories each time, so that a mutant that is caught once is caught always. */
const SEED = 20_300_701
const HISTORIES = 100

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterAll(() => database.close())

test('the functions as they are withstand the histories', { timeout: 120_000 }, async () => {
  expect(await findMistake()).toBeNull()
})

test.each(MUTANTS)('histories notice when $name', { timeout: 120_000 }, async (mutant) => {
  const restore = await mutate(database, mutant)
  try {
    expect(await findMistake()).not.toBeNull()
  } finally {
    await restore()
  }
})

test('parallel reserves notice when a reserve locks and reads in one statement', async () => {
  const parallel = await openBillingDatabase()
  try {
    await mutate(parallel, PARALLEL_MUTANTS.snapshotTrap)
    const answers = await reserveBehindLock(parallel)
    expect(answers.filter((status) => status === 'granted').length).toBeGreaterThan(5)
  } finally {
    await parallel.close()
  }
})

test('a race notices when an expiry does not check again once it has its locks', async () => {
  const parallel = await openBillingDatabase()
  try {
    await mutate(parallel, PARALLEL_MUTANTS.noSecondLook)
    expect(await expireDuringExtend(parallel)).toBe('expired')
  } finally {
    await parallel.close()
  }
})

/** The error of the first history that shows a mistake. */
async function findMistake(): Promise<string | null> {
  const property = fc.asyncProperty(history, (happened) => runHistory(database, happened, new Map()))
  const details = await fc.check(property, { seed: SEED, numRuns: HISTORIES, endOnFailure: true })
  return details.failed ? String(details.errorInstance) : null
}

/** Puts the mistake into the function; returns what puts the function back as it was. */
async function mutate({ pool }: BillingDatabase, { name, of, edits }: Mutant): Promise<() => Promise<void>> {
  const { rows } = await pool.query<{ source: string }>(
    "select pg_get_functiondef(oid) as source from pg_proc where proname = $1 and pronamespace = 'public'::regnamespace",
    [of],
  )
  const { source } = only(rows)
  const mutated = edits.reduce((text, [from, to]) => {
    expect(text.split(from), `${name}: the text to change is there once`).toHaveLength(2)
    return text.replace(from, () => to)
  }, source)
  await pool.query(mutated)
  return async () => {
    await pool.query(source)
  }
}
