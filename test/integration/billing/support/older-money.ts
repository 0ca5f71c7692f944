import { randomUUID } from 'node:crypto'
import { copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseError, type Pool, type QueryResultRow } from 'pg'
import { migrate } from '#apps/billing/database/migrate.ts'
import { scratchFolder } from '../../../support/run-folder.ts'
import { CHAT, log } from './billing-database.ts'

/** The statements of the billing service before budgets, receipts and write-offs: its schema ended at this file. */
const LAST_FILE = 14

const RESERVE = 'select * from reserve_v1($1, $2, $3, $4, $5, $6, $7, $8)'
const REPLACE = 'select * from replace_v1($1, $2, $3, $4)'
const RELEASE = 'select * from release_v1($1, $2)'
const SETTLE = 'select * from settle_v1($1, $2, $3, $4, $5, $6, $7, $8)'
const EXPIRE = 'select expired, more from expire_v1($1, $2)'
const ADVANCE = 'select advance_watermarks_v1($1, $2, $3, $4, $5, $6, $7)'

const MAX_TRIES = 5
const HOUR_MS = 3_600_000

export type OlderMoney = {
  /** One generation each: 100 tokens of input, 50 of output, which hold 700 nano-credits. */
  reserve(ids: readonly string[], keyId: string): Promise<string[]>
  /** With 90 tokens of input: 680 nano-credits. */
  replace(id: string): Promise<string>
  release(id: string): Promise<boolean>
  /** Completed, with these tokens of output. */
  settle(ids: readonly string[], completionTokens: number): Promise<bigint[]>
  sweep(): Promise<void>
}

/** An empty database gets the schema of before, and an account of `nano` credits with a key. */
export async function prepareOlder(pool: Pool, nano: bigint): Promise<{ keyId: string }> {
  const folder = scratchFolder('sql')
  for (const name of await readdir('apps/billing/sql')) {
    if (Number(name.slice(0, 4)) <= LAST_FILE)
      await copyFile(join('apps/billing/sql', name), join(folder, name))
  }
  await migrate(pool, log, { folder: pathToFileURL(`${folder}/`) })
  await pool.query(
    `insert into models (id, kind, created_s, owned_by, context_window, max_output, tools, reasoning, default_effort,
       enabled)
     values ($1, 'chat', 0, 'test', 4096, 1000, false, false, 'off', true)`,
    [CHAT.id],
  )
  await pool.query(
    `insert into price_versions (model, effective_from, input_price, cached_input_price, output_price)
     values ($1, now() - interval '1 hour', $2, $3, $4)`,
    [CHAT.id, CHAT.inputPriceNano, CHAT.cachedInputPriceNano, CHAT.outputPriceNano],
  )
  const [accountId, keyId] = [randomUUID(), randomUUID()]
  await pool.query("insert into accounts (id, name, created_at) values ($1, 'test', now())", [accountId])
  await pool.query("select top_up_v1($1, $2, $3, 'test', 'first', now())", [randomUUID(), accountId, nano])
  await pool.query(
    `insert into api_keys (id, account_id, sha256, prefix, last4, created_at)
     values ($1, $2, sha256($3), 'sk-test', 'last', now())`,
    [keyId, accountId, Buffer.from(keyId)],
  )
  return { keyId }
}

/** That service's calls, with its prepared statements and its answer to conflicts: the same call again. */
export function createOlderMoney(pool: Pool): OlderMoney {
  async function run<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await pool.query<Row>({ name: text, text, values })).rows
      } catch (error) {
        if (attempt === MAX_TRIES || !isConflict(error)) throw error
      }
    }
  }
  const now = () => new Date().toISOString()
  const fill = <Value>(ids: readonly string[], value: Value) => ids.map(() => value)

  return {
    async reserve(ids, keyId) {
      const deadline = new Date(Date.now() + HOUR_MS).toISOString()
      const fields = [
        fill(ids, keyId),
        fill(ids, CHAT.id),
        fill(ids, 100),
        fill(ids, 50),
        fill(ids, deadline),
      ]
      const rows = await run<{ status: string }>(RESERVE, [ids, ...fields, '1 minute', now()])
      return rows.map((row) => row.status)
    },
    async replace(id) {
      const [row] = await run<{ status: string }>(REPLACE, [[id], [90], [50], now()])
      return row?.status ?? 'no answer'
    },
    async release(id) {
      const [row] = await run<{ released: boolean | null }>(RELEASE, [[id], now()])
      return row?.released === true
    },
    async settle(ids, completionTokens) {
      const counts = [fill(ids, 90), fill(ids, 0), fill(ids, completionTokens)]
      const rows = await run<{ charged: bigint }>(SETTLE, [
        ids,
        fill(ids, 1),
        fill(ids, 'completed'),
        ...counts,
        fill(ids, 'older'),
        now(),
      ])
      return rows.map((row) => row.charged)
    },
    async sweep() {
      await run(ADVANCE, [[CHAT.id], [now()], ['1'], ['0'], 'run-1', now(), '1 minute'])
      await run(EXPIRE, [500, now()])
    },
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001')
}
