import type { Pool } from 'pg'
import { expect } from 'vitest'
import type { Mutant } from '../mutants/money-mutants.ts'

/**
 * The ways of a single reserve or settlement. `single`: as billing takes it, by `reserve_one` and `settle_one`. `batch`:
 * by the short way of batches, `reserve_plain` and `settle_plain`. `full`: by `reserve` and `settle`, as every batch.
 */
export const PATHS = ['single', 'batch', 'full'] as const
export type MoneyPath = (typeof PATHS)[number]

/** Written as mutants: the short way of single calls leaves each of them to that of batches. */
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

/** Written as mutants: nothing is plain. */
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

/** Lets a database of its own, until its `close`, take this path alone. */
export async function choosePath(pool: Pool, path: MoneyPath): Promise<void> {
  for (const change of CHANGES[path]) await changeFunction(pool, change)
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
