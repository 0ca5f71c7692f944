import type { PoolClient } from 'pg'
import type { SqlFile } from './read-schema.ts'

const BUILD = /^create (unique )?index concurrently if not exists (\w+) on (\w+) (.+)$/

type Build = {
  readonly unique: string
  readonly index: string
  readonly table: string
  readonly definition: string
}

/**
 * Runs one statement of a build. If `isBrief` is true, the statement waits at most `lockTimeoutMs` for the lock of its
 * table. Otherwise it waits for locks without a limit.
 */
type Run = (statement: string, isBrief: boolean) => Promise<void>

/**
 * Runs a file of `create index concurrently if not exists …` statements, each by itself, because they cannot run in a
 * transaction. An index whose build was interrupted is invalid: it is dropped and built again. Finished indexes stay.
 *
 * PostgreSQL cannot build the index of a partitioned table concurrently. So an index is built for each partition, and
 * then attached to the table's own index, which has no content. For a partition that is added later, PostgreSQL itself
 * creates the index.
 */
export async function buildIndexes(
  client: PoolClient,
  { name, text }: SqlFile,
  options: { lockTimeoutMs: number; run: (statement: string) => Promise<void> },
): Promise<void> {
  const builds = toStatements(text).map((statement) => {
    const [, unique = '', index, table, definition] = BUILD.exec(statement) ?? []
    if (index !== undefined && table !== undefined && definition !== undefined) {
      return { unique, index, table, definition }
    }
    throw new Error(`${name} may only have "create index concurrently if not exists", found: ${statement}`)
  })
  const run: Run = async (statement, isBrief) => {
    // A concurrent build waits for locks without a limit, because other sessions can write while it waits.
    await client.query(`set lock_timeout = ${isBrief ? options.lockTimeoutMs : 0}`)
    await options.run(statement)
  }
  for (const build of builds) {
    if (await isPartitioned(client, build.table)) await buildInPartitions(client, build, run)
    else await buildOne(client, build, run)
  }
}

async function buildInPartitions(client: PoolClient, build: Build, run: Run): Promise<void> {
  const { unique, index, table, definition } = build
  if (await isValid(client, index)) return
  await run(`create ${unique}index if not exists ${index} on only ${table} ${definition}`, true)
  for (const partition of await listWithout(client, index, table)) {
    const ofPartition = `${index}_${partition.slice(table.length + 1)}`
    await buildOne(client, { ...build, index: ofPartition, table: partition }, run)
    await run(`alter index ${index} attach partition ${ofPartition}`, true)
  }
}

async function buildOne(client: PoolClient, build: Build, run: Run): Promise<void> {
  const { unique, index, table, definition } = build
  if ((await isValid(client, index)) === false) await run(`drop index concurrently ${index}`, false)
  await run(`create ${unique}index concurrently if not exists ${index} on ${table} ${definition}`, false)
}

/**
 * Returns whether the index is valid; undefined if there is no such index. The index of a partitioned table is valid
 * once an index of each partition is attached to it.
 */
async function isValid(client: PoolClient, index: string): Promise<boolean | undefined> {
  const { rows } = await client.query<{ indisvalid: boolean }>(
    'select indisvalid from pg_index where indexrelid = to_regclass($1)',
    [index],
  )
  return rows[0]?.indisvalid
}

async function isPartitioned(client: PoolClient, table: string): Promise<boolean> {
  const { rows } = await client.query("select from pg_class where oid = to_regclass($1) and relkind = 'p'", [
    table,
  ])
  return rows.length > 0
}

/** Returns the partitions whose own index is not yet attached to the table's. */
async function listWithout(client: PoolClient, index: string, table: string): Promise<string[]> {
  const { rows } = await client.query<{ partition: string }>(
    `select p.inhrelid::regclass::text as partition from pg_inherits p
     where p.inhparent = to_regclass($1) and not exists (
       select from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
       where i.inhparent = to_regclass($2) and x.indrelid = p.inhrelid)
     order by 1`,
    [table, index],
  )
  return rows.map(({ partition }) => partition)
}

function toStatements(text: string): string[] {
  return text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
}
