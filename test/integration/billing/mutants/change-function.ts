import type { Pool } from 'pg'
import { expect } from 'vitest'
import type { Mutant } from './money-mutants.ts'

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
