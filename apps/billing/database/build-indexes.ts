import type { PoolClient } from 'pg'
import type { SqlFile } from './read-schema.ts'

const BUILD = /^create (?:unique )?index concurrently if not exists (\w+) on /

/**
 * Runs a file of `create index concurrently if not exists …` statements, each by itself: they cannot run in a
 * transaction. An index whose build was interrupted is invalid: it is dropped first. Finished ones stay.
 */
export async function buildIndexes(
  client: PoolClient,
  { name, text }: SqlFile,
  run: (statement: string) => Promise<void>,
): Promise<void> {
  const builds = toStatements(text).map((statement) => {
    const index = BUILD.exec(statement)?.[1]
    if (index !== undefined) return { index, statement }
    throw new Error(`${name} may only have "create index concurrently if not exists", found: ${statement}`)
  })
  // A build may wait for locks: writers pass it meanwhile.
  await client.query('set lock_timeout = 0')
  for (const { index, statement } of builds) {
    const { rows } = await client.query(
      'select from pg_index where indexrelid = to_regclass($1) and not indisvalid',
      [index],
    )
    if (rows.length > 0) await run(`drop index concurrently ${index}`)
    await run(statement)
  }
}

function toStatements(text: string): string[] {
  return text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
}
