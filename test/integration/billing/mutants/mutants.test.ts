import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IS_LONG } from '#test/support/long.ts'
import { openBillingDatabase, type BillingDatabase } from '../support/billing-database.ts'
import { runHistory } from '../model/money-history.ts'
import { IS_RECORDING, readKillers, RECORD_ANEW, recordKillers } from './killers.ts'
import { CHOICE_MUTANTS } from './choice-mutants.ts'
import { FREE_MUTANTS } from './free-mutants.ts'
import { GROWTH_MUTANTS } from './growth-mutants.ts'
import { MUTANTS, PARALLEL_MUTANTS } from './money-mutants.ts'
import { PERIOD_MUTANTS } from './period-mutants.ts'
import { PLAIN_MUTANTS, PLAIN_PARALLEL_MUTANTS } from './plain-mutants.ts'
import { RATE_MUTANTS } from './rate-mutants.ts'
import { ROLLING_MUTANTS } from './rolling-mutants.ts'
import { SHORT_MUTANTS, SHORT_PARALLEL_MUTANTS } from './short-mutants.ts'
import { history, batchHistory, singleHistory, type History } from '../model/money-steps.ts'
import { changeFunction } from '../support/money-paths.ts'
import {
  expireDuringExtend,
  reserveBehindLock,
  reservePlainBehindLock,
  settleDuringRelease,
} from '../support/parallel-calls.ts'

// Tests the tests: the tests that prove the money functions right must fail when the functions are wrong.
//
// `npm test` runs, for each mutant, the one history that is known to show its mistake (`killers.json`); the unchanged
// functions pass the same histories. `npm run test:long -- mutants` tries all histories of the seed: on the unchanged
// functions, and on each mutant until one history shows its mistake. After a change of the histories or of the mutants,
// add `--record` to that command; it then writes `killers.json` anew.

/** The seed makes the same histories each time, so that a mutant that is caught once is always caught. */
const SEED = 20_300_701
const HISTORIES = 500

const FULL_MUTANTS = [
  ...MUTANTS,
  ...PERIOD_MUTANTS,
  ...ROLLING_MUTANTS,
  ...GROWTH_MUTANTS,
  ...CHOICE_MUTANTS,
  ...FREE_MUTANTS,
  ...RATE_MUTANTS,
]

describe.each([
  { path: 'full', mutants: FULL_MUTANTS, histories: history },
  { path: 'single', mutants: SHORT_MUTANTS, histories: singleHistory },
  { path: 'batch', mutants: PLAIN_MUTANTS, histories: batchHistory },
] as const)('on the $path path of single calls', ({ path, mutants, histories }) => {
  const killers = readKillers(path)
  const found = new Map<string, string>()
  let database: BillingDatabase

  beforeAll(async () => {
    database = await openBillingDatabase({ path })
  })
  afterAll(async () => {
    await database.close()
    if (IS_RECORDING && found.size === mutants.length) recordKillers(path, found)
  })

  test('the functions as they are withstand the histories', { timeout: 600_000 }, async () => {
    const places = IS_LONG ? [undefined] : [...new Set(Object.values(killers))]
    expect(places).not.toEqual([])
    for (const place of places) expect(await findMistake(database, { histories, place })).toBeNull()
  })

  test.each(mutants)('histories notice when $name', { timeout: 600_000 }, async (mutant) => {
    const place = IS_LONG ? undefined : killers[mutant.name]
    if (!IS_LONG && place === undefined) throw new Error(`no history is known to show it; ${RECORD_ANEW}`)
    const restore = await changeFunction(database.pool, mutant)
    try {
      const mistake = await findMistake(database, { histories, place })
      if (!IS_LONG && mistake === null) throw new Error(`history ${place} no longer shows it; ${RECORD_ANEW}`)
      expect(mistake).not.toBeNull()
      found.set(mutant.name, mistake?.place ?? '')
    } finally {
      await restore()
    }
  })

  test('killers.json has a history for each of these mutants, and no other', () => {
    const names = IS_RECORDING ? found.keys() : Object.keys(killers)
    expect([...names].toSorted()).toEqual(mutants.map(({ name }) => name).toSorted())
  })
})

test('parallel reserves notice when a reserve locks and reads in one statement', async () => {
  const parallel = await openBillingDatabase({ path: 'full' })
  try {
    await changeFunction(parallel.pool, PARALLEL_MUTANTS.snapshotTrap)
    const answers = await reserveBehindLock(parallel)
    expect(answers.filter((status) => status === 'granted').length).toBeGreaterThan(5)
  } finally {
    await parallel.close()
  }
})

test('a race notices when an expiry does not check again once it has its locks', async () => {
  const parallel = await openBillingDatabase()
  try {
    await changeFunction(parallel.pool, PARALLEL_MUTANTS.noSecondLook)
    expect(await expireDuringExtend(parallel)).toBe('expired')
  } finally {
    await parallel.close()
  }
})

test('parallel reserves notice when a short reserve checks the credits before its update', async () => {
  const parallel = await openBillingDatabase()
  try {
    await changeFunction(parallel.pool, SHORT_PARALLEL_MUTANTS.guardApart)
    // A constraint of PostgreSQL refuses the overspend, and the calls fail.
    await expect(reservePlainBehindLock(parallel)).rejects.toThrow('balance_not_negative')
  } finally {
    await parallel.close()
  }
})

test('a race notices when a short settlement reads the hold without the lock of its account', async () => {
  const parallel = await openBillingDatabase()
  try {
    await changeFunction(parallel.pool, SHORT_PARALLEL_MUTANTS.noLock)
    expect(await settleDuringRelease(parallel)).not.toEqual({ result: 'released', held: 0n })
  } finally {
    await parallel.close()
  }
})

test('parallel reserves notice when a plain reserve reads the credits without the lock of the account', async () => {
  const parallel = await openBillingDatabase({ path: 'batch' })
  try {
    await changeFunction(parallel.pool, PLAIN_PARALLEL_MUTANTS.noLockOfReserve)
    await expect(reservePlainBehindLock(parallel)).rejects.toThrow('balance_not_negative')
  } finally {
    await parallel.close()
  }
})

test('a race notices when a plain settlement reads the holds without the lock of their account', async () => {
  const parallel = await openBillingDatabase({ path: 'batch' })
  try {
    await changeFunction(parallel.pool, PLAIN_PARALLEL_MUTANTS.noLockOfSettlement)
    // On this path the caller of the function takes a lock of its own, so this lock is removed as well.
    await changeFunction(parallel.pool, SHORT_PARALLEL_MUTANTS.noLock)
    expect(await settleDuringRelease(parallel)).not.toEqual({ result: 'released', held: 0n })
  } finally {
    await parallel.close()
  }
})

/**
 * Returns the first history that shows a mistake, and its error; null if none does. With a `place`, only the history at
 * that place is tried.
 */
async function findMistake(
  database: BillingDatabase,
  { histories, place }: { histories: fc.Arbitrary<History>; place: string | undefined },
): Promise<{ place: string; error: string } | null> {
  const property = fc.asyncProperty(histories, (happened) => runHistory(database, happened, new Map()))
  const which = place === undefined ? { numRuns: HISTORIES } : { numRuns: 1, path: place }
  const details = await fc.check(property, { seed: SEED, endOnFailure: true, ...which })
  if (!details.failed) return null
  return { place: details.counterexamplePath ?? '', error: String(details.errorInstance) }
}
