import type { PoolClient } from 'pg'

const BUILD = /^create (?:unique )?index concurrently if not exists (\w+) on /

/** A file that builds indexes while the tables are written to. Such statements refuse to run in a transaction. */
export const isIndexFile = (text: string): boolean => /\bconcurrently\b/.test(withoutComments(text))

/**
 * Runs such a file: `create index concurrently if not exists …` statements and nothing else, each by itself. One that
 * was cut short before left an invalid index behind, which is dropped first; those that were finished stay.
 *
 * After a build every transaction that was under way when it began has ended: PostgreSQL waits for all of them before
 * it calls the index valid.
 */
export async function buildIndexes(
  client: PoolClient,
  { name, text, run }: { name: string; text: string; run: (statement: string) => Promise<void> },
): Promise<void> {
  // Waiting here holds nobody up: the build's lock lets writers pass.
  await client.query('set lock_timeout = 0')
  for (const statement of toStatements(text)) {
    const index = BUILD.exec(statement)?.[1]
    if (index === undefined) {
      throw new Error(`${name} may only have "create index concurrently if not exists", found: ${statement}`)
    }
    const { rows } = await client.query(
      'select from pg_index where indexrelid = to_regclass($1) and not indisvalid',
      [index],
    )
    if (rows.length > 0) await run(`drop index concurrently ${index}`)
    await run(statement)
  }
}

function toStatements(text: string): string[] {
  return withoutComments(text)
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
}

const withoutComments = (text: string) => text.replaceAll(/--.*$/gm, '')
