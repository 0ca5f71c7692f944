import * as fc from 'fast-check'
import { afterAll, expect } from 'vitest'
import { IS_LONG } from '#test/support/long.ts'
import type { BillingDatabase } from '../support/billing-database.ts'
import { test } from '../support/file-database-test.ts'
import { runHistory } from '../model/money-history.ts'
import { IS_RECORDING, readKillers, RECORD_ANEW, recordKillers } from './killers.ts'
import { CHOICE_MUTANTS } from './choice-mutants.ts'
import { FREE_MUTANTS } from './free-mutants.ts'
import { GROWTH_MUTANTS } from './growth-mutants.ts'
import { MUTANTS, PARALLEL_MUTANTS } from './money-mutants.ts'
import { PERIOD_MUTANTS } from './period-mutants.ts'
import { RATE_MUTANTS } from './rate-mutants.ts'
import { ROLLING_MUTANTS } from './rolling-mutants.ts'
import { SETTLE_MUTANTS } from './settle-mutants.ts'
import { history } from '../model/money-steps.ts'
import { changeFunction } from './change-function.ts'
import { expireDuringExtend, reserveBehindLock, settleDuringRelease } from '../support/parallel-calls.ts'

// Tests the tests: the tests that prove the money functions right must fail when the functions are wrong.
//
// `npm test` runs, for each mutant, the one history that is known to show its mistake (`killers.json`); the unchanged
// functions pass the same histories. `npm run test:long -- mutants` tries all histories of the seed: on the unchanged
// functions, and on each mutant until one history shows its mistake. After a change of the histories or of the mutants,
// add `--record` to that command; it then writes `killers.json` anew.

/** The seed makes the same histories each time, so that a mutant that is caught once is always caught. */
const SEED = 20_300_701
const HISTORIES = 500

const ALL = [
  ...MUTANTS,
  ...SETTLE_MUTANTS,
  ...PERIOD_MUTANTS,
  ...ROLLING_MUTANTS,
  ...GROWTH_MUTANTS,
  ...CHOICE_MUTANTS,
  ...FREE_MUTANTS,
  ...RATE_MUTANTS,
]

const killers = readKillers()
const found = new Map<string, string>()

afterAll(() => {
  if (!IS_RECORDING) return
  const places = ALL.map(({ name }) => [name, found.get(name) ?? killers[name]] as const)
  recordKillers(Object.fromEntries(places.filter(([, place]) => place !== undefined)))
})

test('the functions as they are withstand the histories', { timeout: 600_000 }, async ({ database }) => {
  const places = IS_LONG ? [undefined] : [...new Set(Object.values(killers))]
  expect(places).not.toEqual([])
  for (const place of places) expect(await findMistake(database, place, 100)).toBeNull()
})

test.for(ALL)('histories notice when $name', { timeout: 600_000 }, async (mutant, { database }) => {
  const place = IS_LONG ? undefined : killers[mutant.name]
  if (!IS_LONG && place === undefined) throw new Error(`no history is known to show it; ${RECORD_ANEW}`)
  const restore = await changeFunction(database.pool, mutant)
  try {
    const mistake = await findMistake(database, place)
    if (!IS_LONG && mistake === null) throw new Error(`history ${place} no longer shows it; ${RECORD_ANEW}`)
    expect(mistake).not.toBeNull()
    found.set(mutant.name, mistake?.place ?? '')
  } finally {
    await restore()
  }
})

test('killers.json has a history for each of these mutants, and no other', () => {
  const names = [...Object.keys(killers), ...found.keys()]
  expect([...new Set(names)].toSorted()).toEqual(ALL.map(({ name }) => name).toSorted())
})

test('parallel reserves notice when a reserve locks and reads in one statement', async ({
  ownDatabase: parallel,
}) => {
  await changeFunction(parallel.pool, PARALLEL_MUTANTS.snapshotTrap)
  const answers = await reserveBehindLock(parallel)
  expect(answers.filter((status) => status === 'granted').length).toBeGreaterThan(5)
})

test('a race notices when an expiry does not check again once it has its locks', async ({
  ownDatabase: parallel,
}) => {
  await changeFunction(parallel.pool, PARALLEL_MUTANTS.noSecondLook)
  expect(await expireDuringExtend(parallel)).toBe('expired')
})

test('a race notices when a settlement reads the holds without the lock of their account', async ({
  ownDatabase: parallel,
}) => {
  await changeFunction(parallel.pool, PARALLEL_MUTANTS.noLock)
  expect(await settleDuringRelease(parallel)).not.toEqual({ result: 'released', held: 0n })
})

/**
 * Returns the first history that shows a mistake, and its error; null if none does. With a `place`, only the history at
 * that place is tried.
 */
async function findMistake(
  database: BillingDatabase,
  place: string | undefined,
  most = HISTORIES,
): Promise<{ place: string; error: string } | null> {
  const property = fc.asyncProperty(history, (happened) => runHistory(database, happened, new Map()))
  const which = place === undefined ? { numRuns: most } : { numRuns: 1, path: place }
  const details = await fc.check(property, { seed: SEED, endOnFailure: true, ...which })
  if (!details.failed) return null
  return { place: details.counterexamplePath ?? '', error: String(details.errorInstance) }
}
