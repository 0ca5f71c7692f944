import type { Pool } from 'pg'
import { expect } from 'vitest'
import type { Mutant } from '../mutants/money-mutants.ts'

/**
 * The ways of a single reserve or settlement:
 *
 * - `single`: `reserve_one` and `settle_one`, which billing uses for a single call;
 * - `batch`: `reserve_plain` and `settle_plain`, the short way of batches;
 * - `full`: `reserve` and `settle`, which can handle every batch.
 */
export const PATHS = ['single', 'batch', 'full'] as const
export type MoneyPath = (typeof PATHS)[number]

/**
 * Changes, written as mutants, with which the short way of single calls leaves every call to the short way of batches.
 */
const TO_BATCHES: readonly Mutant[] = [
  {
    name: 'a single reserve is a batch',
    of: 'reserve_one',
    edits: [
      ['where k.id = reserve_one.key_id and', 'where false and'],
      ['select * from reserve(', 'select * from reserve_plain('],
    ],
  },
  {
    name: 'a single settlement is a batch',
    of: 'settle_one',
    edits: [
      ['where r.id = reservation and r.account_id = locked and', 'where false and'],
      [
        "select 1, 'charged', n.cost, n.cost::bigint from plain n;",
        `select 1, 'charged', n.cost, n.cost::bigint from plain n;
        return query select * from settle_plain(
          ids => array[reservation], epochs => array[settle_one.epoch], outcomes => array[settle_one.outcome],
          prompts => array[prompt], cacheds => array[cached], completions => array[completion],
          bys => array[settle_one.settled_by], at => at
        );`,
      ],
    ],
  },
]

/** Changes, written as mutants, with which no call may take the short way of batches. */
const CLOSED: readonly Mutant[] = [
  {
    name: 'no reserve is plain',
    of: 'reserve_one',
    edits: [['where k.id = reserve_one.key_id and', 'where false and']],
  },
  {
    name: 'no batch of reserves is plain',
    of: 'reserve_plain',
    edits: [['where (select count(*) from known)', 'where false and (select count(*) from known)']],
  },
  {
    name: 'no settlement is plain',
    of: 'settle_one',
    edits: [['where r.id = reservation and r.account_id = locked and', 'where false and']],
  },
  {
    name: 'no batch of settlements is plain',
    of: 'settle_plain',
    edits: [['select * from priced where', 'select * from priced where false and']],
  },
]

const CHANGES = { single: [], batch: TO_BATCHES, full: CLOSED } as const satisfies Record<
  MoneyPath,
  readonly Mutant[]
>

/** Changes a test's own database so that it uses only this path, until the database is closed. */
export async function choosePath(pool: Pool, path: MoneyPath): Promise<void> {
  for (const change of CHANGES[path]) await changeFunction(pool, change)
}

/** Changes a function's source. Returns a function that restores the source. */
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
