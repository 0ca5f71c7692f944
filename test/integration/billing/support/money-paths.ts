import type { Pool } from 'pg'
import { expect } from 'vitest'
import type { Mutant } from '../mutants/money-mutants.ts'

/**
 * The two ways of a single reserve or settlement. `short`: as billing takes it, by `reserve_one` and `settle_one`.
 * `full`: those leave every call to `reserve` and `settle`.
 */
export const PATHS = ['short', 'full'] as const
export type MoneyPath = (typeof PATHS)[number]

/** As mistakes: each of the short ways finds no call plain. */
const CLOSED: readonly Mutant[] = [
  {
    name: 'no reserve is plain',
    of: 'reserve_one',
    edits: [['where k.id = reserve_one.key_id and', 'where false and']],
  },
  {
    name: 'no settlement is plain',
    of: 'settle_one',
    edits: [['where r.id = reservation and r.account_id = locked and', 'where false and']],
  },
]

/** Leaves only the full functions to a database of its own, until `close` of the database. */
export async function closeShortPaths(pool: Pool): Promise<void> {
  for (const closed of CLOSED) await changeFunction(pool, closed)
}

/** Changes a function's source; returns what puts it back as it was. */
export async function changeFunction(pool: Pool, { name, of, edits }: Mutant): Promise<() => Promise<void>> {
  const { rows } = await pool.query<{ source: string }>(
    "select pg_get_functiondef(oid) as source from pg_proc where proname = $1 and pronamespace = 'public'::regnamespace",
    [of],
  )
  const source = rows[0]?.source
  if (source === undefined || rows.length > 1) throw new Error(`expected one function ${of}`)
  const changed = edits.reduce((text, [from, to]) => {
    expect(text.split(from), `${name}: the text to change is there once`).toHaveLength(2)
    return text.replace(from, () => to)
  }, source)
  await pool.query(changed)
  return async () => {
    await pool.query(source)
  }
}
