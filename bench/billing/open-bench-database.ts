import { Client, type Pool } from 'pg'
import { pino } from 'pino'
import { loadCatalog } from '#apps/billing/catalog/load-catalog.ts'
import { migrate } from '#apps/billing/database/migrate.ts'
import { createMoney, type Money } from '#apps/billing/money/money.ts'
import { connectionConfig, openPool } from '#apps/billing/database/open-pool.ts'
import { createReceipts } from '#apps/billing/money/receipts.ts'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { startLocalPostgres } from '#test/support/local-servers.ts'
import { scratchFolder } from '#test/support/run-folder.ts'

export const CATALOG_FILE = 'deploy/catalog.demo.json'
export const RECEIPT_SECRETS = 'bench-receipt-secret-of-32-characters'
export const MODEL = 'demo-chat'
export const HOLD_GRACE_MS = 60_000

/**
 * Lists the tables to analyze: all except the partitioned tables. Autovacuum does the same in a service: it analyzes
 * partitions, but never a partitioned table. So the cost that the planner estimates for a query of a partitioned table
 * is far too high, and grows with the table.
 */
const LEAF_TABLES = `select string_agg(oid::regclass::text, ', ') as names from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace`

/** An amount of nano-credits, or a number of tokens, that no run uses up. */
const PLENTY = '1000000000000000'

/**
 * The kinds of keys. `limited` keys have a spend limit. `rated` keys have a limit of requests per minute and a limit of
 * tokens per minute. No key ever reaches any of its limits.
 */
export type KeyKind = 'plain' | 'limited' | 'rated'

export type BenchDatabase = {
  readonly url: string
  readonly pool: Pool
  readonly money: Money
  /** Ids of keys. Each key has its own account, with more credits than it can spend. */
  readonly keys: Readonly<Record<KeyKind, readonly string[]>>
  accountOf(keyId: string): string
  readonly priceVersion: bigint
  /** Runs statements one after the other in one session without time limits. */
  runLong(statements: readonly string[]): Promise<unknown>
  /**
   * Vacuums the tables, analyzes them as autovacuum does, and writes all changed pages to the disk, so that every round
   * begins in the same state.
   */
  settleDown(): Promise<void>
  /** Throws if the reconciliation finds a contradiction. */
  checkBooks(): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a separate PostgreSQL that flushes every commit to the disk, and creates billing's database there. `settled`
 * is the number of older reservations in its tables, each with its usage and ledger entry.
 */
export async function openBenchDatabase(options: {
  accounts: number
  settled: number
}): Promise<BenchDatabase> {
  const log = pino({ level: 'silent' })
  const server = await startLocalPostgres(scratchFolder('durable'), { throwaway: false })
  const url = server.url('postgres')
  const pool = await openPool({ url, log, waitMs: 5_000 })
  await migrate(pool, log)
  await loadCatalog({ pool, models: await readCatalogFiles([CATALOG_FILE]), nowMs: Date.now(), log })
  await runLong(url, createAccounts(options.accounts))
  await runLong(url, createHistory(options.settled))
  const accounts = await readAccounts(pool)

  return {
    url,
    pool,
    money: createMoney({
      pool,
      receipts: createReceipts([RECEIPT_SECRETS]),
      holdGraceMs: HOLD_GRACE_MS,
      freeTokensPerHour: 100_000,
      nowMs: () => Date.now(),
    }),
    keys: {
      plain: keysOf(accounts, 'plain'),
      limited: keysOf(accounts, 'limited'),
      rated: keysOf(accounts, 'rated'),
    },
    accountOf(keyId) {
      const account = accounts.get(keyId)
      if (account === undefined) throw new Error(`no account has the key ${keyId}`)
      return account.id
    },
    priceVersion: await readPriceVersion(pool),
    runLong: async (statements) => await runLong(url, statements),
    async settleDown() {
      const tables = await pool.query<{ names: string }>(LEAF_TABLES)
      await runLong(url, [`vacuum analyze ${tables.rows[0]?.names}`, 'checkpoint'])
    },
    async checkBooks() {
      const wrong = await runLong(url, ['select name from reconcile(whole => true) where count <> 0'])
      if (wrong.length > 0) throw new Error(`the books do not add up: ${JSON.stringify(wrong)}`)
    },
    async close() {
      await pool.end()
      await server.stop()
    },
  }
}

/** Makes one account for every key, and the same number of keys of every kind. */
function createAccounts(count: number): string[] {
  return [
    `create temporary table new_keys as
      select gen_random_uuid() as account_id, gen_random_uuid() as key_id, kind
      from generate_series(1, ${count}), unnest(array['plain', 'limited', 'rated']) as kind`,
    'insert into accounts (id, name, created_at) select account_id, kind, now() from new_keys',
    `select top_up(
        movement => gen_random_uuid(), account => account_id, amount => ${PLENTY}, why => 'bench', key => 'first', at => now()
      ) from new_keys`,
    `insert into api_keys (
        id, account_id, sha256, prefix, last4, created_at, version,
        spend_limit, spend_period, requests_per_minute, tokens_per_minute
      )
      select key_id, account_id, sha256(key_id::text::bytea), 'bench', 'last', now(), 0,
        case kind when 'limited' then ${PLENTY} end, case kind when 'limited' then 'month' end,
        case kind when 'rated' then 1000000000 end, case kind when 'rated' then ${PLENTY} end
      from new_keys`,
  ]
}

/**
 * Returns the statements that make `count` settled reservations, one for each millisecond from 24 hours ago on. Their
 * ids rise with the time, like the ids that a gateway makes.
 */
function createHistory(count: number): string[] {
  return [
    `create temporary table history as
      select n, k.account_id, k.id as key_id, t.at, p.id as price_version,
        price_tokens(100, 0, 100, p.input_price, p.cached_input_price, p.output_price)::bigint as cost, (
        lpad(to_hex((extract(epoch from t.at) * 1000)::bigint), 12, '0') || '70008' || substr(md5(n::text), 1, 15)
      )::uuid as id
      from generate_series(1, ${count}) as n
      join (select *, row_number() over () as place from api_keys) k
        on k.place = 1 + n % (select count(*) from api_keys)
      join price_versions p on p.model = '${MODEL}'
      cross join lateral (select now() - interval '1 day' + n * interval '1 millisecond' as at) t`,
    `insert into reservations (
        id, state, key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
        amount, clamped, expires_at, created_at, closed_at
      )
      select id, 'settled', key_id, '${MODEL}', 100, 100, at, account_id, price_version, 100, cost, false, at, at, at
      from history order by n`,
    `insert into usage (
        reservation_id, account_id, key_id, model, price_version, epoch, outcome, prompt_tokens, cached_tokens,
        completion_tokens, cost, charged, late, settled_by, settled_at
      )
      select id, account_id, key_id, '${MODEL}', price_version, 1, 'completed', 100, 0, 100, cost, cost, false, 'bench', at
      from history order by n`,
    `insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
      select 'charge', h.id, h.account_id, s.id, h.cost, h.at
      from history h, system_accounts s where s.name = 'revenue' order by h.n`,
    `update accounts a set posted = posted - h.spent
      from (select account_id, sum(cost)::bigint as spent from history group by account_id) h where a.id = h.account_id`,
  ]
}

type Account = { readonly id: string; readonly kind: string }

/** Returns the accounts by the ids of their keys. */
async function readAccounts(pool: Pool): Promise<Map<string, Account>> {
  const { rows } = await pool.query<{ key_id: string } & Account>(
    'select k.id as key_id, a.id, a.name as kind from api_keys k join accounts a on a.id = k.account_id',
  )
  return new Map(rows.map(({ key_id, id, kind }) => [key_id, { id, kind }]))
}

function keysOf(accounts: ReadonlyMap<string, Account>, kind: KeyKind): string[] {
  return [...accounts].filter(([, account]) => account.kind === kind).map(([keyId]) => keyId)
}

async function readPriceVersion(pool: Pool): Promise<bigint> {
  const { rows } = await pool.query<{ id: bigint }>('select id from price_versions where model = $1', [MODEL])
  const version = rows[0]
  if (version === undefined) throw new Error(`${MODEL} has no price`)
  return version.id
}

/** Runs statements on a connection without billing's time-outs. Returns the rows of the last statement. */
async function runLong(url: string, statements: readonly string[]): Promise<unknown[]> {
  const client = new Client({
    ...connectionConfig(url),
    statement_timeout: 0,
    query_timeout: 0,
    idle_in_transaction_session_timeout: 0,
  })
  await client.connect()
  try {
    let rows: unknown[] = []
    for (const statement of statements) ({ rows } = await client.query<Record<string, unknown>>(statement))
    return rows
  } finally {
    await client.end()
  }
}
