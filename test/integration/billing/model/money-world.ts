import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { countPeriod as countPeriodOf } from '#apps/billing/resources/count-period.ts'
import { toKysely } from '#apps/billing/database/to-kysely.ts'
import type { BillingDatabase } from '../support/billing-database.ts'
import type { Credit } from './credit-model.ts'
import { countPeriod, type Account, type Books, type Key } from './money-books.ts'
import { ACCOUNTS, KEYS, MODELS, PRICES, type KeySettings } from './money-steps.ts'

/** The beginning of a history: 90 s before the end of a day, a week and a month. */
const BEGIN_MS = Date.parse('2030-06-30T23:58:30Z')

// Deletes the rows of the previous history. It runs without triggers, because they protect these rows.
const FORGET_ALL = `
  begin;
  set local session_replication_role = replica;
  delete from usage; delete from reservations; delete from settlement_alarms; delete from settlement_watermarks;
  delete from key_budgets; delete from key_rates; delete from api_keys;
  delete from ledger; delete from topups; delete from adjustments; delete from ledger_seals; delete from sealed_balances;
  delete from accounts; delete from price_versions where effective_from >= '2030-06-30';
  commit`

/** Creates accounts without credits, and their keys: the same in the database and in the model's books. */
export async function createWorld(database: BillingDatabase, keys: readonly KeySettings[]): Promise<Books> {
  const { pool, clock } = database
  clock.nowMs = BEGIN_MS
  await pool.query(FORGET_ALL)
  const accounts = Array.from({ length: ACCOUNTS }, () => ({
    id: randomUUID(),
    isOpen: true,
    posted: 0n,
    held: 0n,
  }))
  const books: Books = {
    accounts,
    keys: KEYS.map((place) => ({ id: randomUUID(), account: at(accounts, place), ...UNLIMITED })),
    reservations: new Map(),
    budgets: new Map(),
    rates: new Map(),
    prices: await readPrices(database),
    watermarks: new Map(),
    alarms: new Set(),
    ledger: new Map(),
  }
  await pool.query({
    name: 'create-accounts',
    text: "insert into accounts (id, name, created_at) select unnest($1::uuid[]), 'test', $2",
    values: [accounts.map(({ id }) => id), new Date(BEGIN_MS)],
  })
  for (const [index, settings] of keys.entries()) setKey(at(books.keys, index), settings, BEGIN_MS)
  await pool.query({
    name: 'create-keys',
    text: `insert into api_keys (id, account_id, sha256, prefix, last4, created_at, ${SETTINGS})
      select k.id, k.account_id, sha256(k.id::text::bytea), '', '', $2, ${SETTINGS}
      from json_populate_recordset(null::api_keys, $1) k`,
    values: [JSON.stringify(books.keys.map(toRow)), new Date(BEGIN_MS)],
  })
  return books
}

const UNLIMITED = {
  isActive: true,
  expiresAtMs: null,
  models: null,
  limit: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
}

/** The columns of `toRow` except the ids. */
const SETTINGS =
  'status, expires_at, models, spend_limit, spend_period, requests_per_minute, tokens_per_minute'

export async function changeKey(
  database: BillingDatabase,
  { books, key }: { books: Books; key: Key },
  settings: KeySettings,
): Promise<void> {
  const now = new Date(database.clock.nowMs)
  const before = key.limit?.period ?? null
  setKey(key, settings, now.getTime())
  await database.pool.query({
    name: 'change-key',
    text: `update api_keys set (${SETTINGS}) = (
        select ${SETTINGS} from json_populate_record(null::api_keys, $1)
      ) where id = $2`,
    values: [JSON.stringify(toRow(key)), key.id],
  })
  if (key.limit === null || key.limit.period === before) return
  countPeriod(books, key, now.getTime())
  const { nano: amountNano, period } = key.limit
  await countPeriodOf(
    { db: toKysely(database.pool), now },
    { id: key.id, created_at: new Date(BEGIN_MS), spend_period: before },
    { spendLimit: { amountNano, period } },
  )
}

function setKey(key: Key, settings: KeySettings, nowMs: number): void {
  const { isActive, expiresInS, models, ...limits } = settings
  Object.assign(key, { isActive, ...limits })
  key.expiresAtMs = expiresInS === null ? null : nowMs + expiresInS * 1_000
  key.models = models?.map((place) => at(MODELS, place).id) ?? null
}

/** Returns a key as a row of `api_keys` in JSON. */
function toRow({ id, account, isActive, expiresAtMs, models, limit, ...rates }: Key) {
  return {
    id,
    account_id: account.id,
    status: isActive ? 'active' : 'disabled',
    expires_at: expiresAtMs === null ? null : new Date(expiresAtMs),
    models,
    spend_limit: limit === null ? null : `${limit.nano}`,
    spend_period: limit?.period ?? null,
    requests_per_minute: rates.requestsPerMinute,
    tokens_per_minute: rates.tokensPerMinute,
  }
}

/** Publishes a price of a model, which has one price at a time. */
export async function changePrice(
  database: BillingDatabase,
  books: Books,
  change: { model: number; price: number; inS: number },
): Promise<void> {
  const { id } = at(MODELS, change.model)
  const prices = at(PRICES, change.price)
  const fromMs = database.clock.nowMs + change.inS * 1_000
  const { rows } = await database.pool.query<{ id: bigint }>(
    `insert into price_versions (model, effective_from, input_price, cached_input_price, output_price)
     values ($1, $2, $3, $4, $5) on conflict do nothing returning id`,
    [id, new Date(fromMs), prices.inputPriceNano, prices.cachedInputPriceNano, prices.outputPriceNano],
  )
  for (const row of rows) books.prices.get(id)?.push({ version: row.id, fromMs, prices })
}

export async function changeAccount(
  { pool }: BillingDatabase,
  account: Account,
  isOpen: boolean,
): Promise<void> {
  account.isOpen = isOpen
  await pool.query('update accounts set status = $2 where id = $1', [
    account.id,
    isOpen ? 'active' : 'closed',
  ])
}

export async function giveCredit({ pool, clock }: BillingDatabase, credit: Credit) {
  const { rows } = await pool.query<{ status: string; posted: bigint }>(
    `select status, posted from ${credit.kind === 'top-up' ? 'top_up' : 'adjust'}(
       movement => $1, account => $2, amount => $3, why => 'test', key => $4, at => $5)`,
    [randomUUID(), credit.account.id, credit.nano, credit.idempotencyKey, new Date(clock.nowMs)],
  )
  return at(rows, 0)
}

export async function sealLedger({ pool, clock }: BillingDatabase) {
  const { rows } = await pool.query<{ day: string; entries: bigint }>(
    'select day::text, entries from seal_ledger(at => $1)',
    [new Date(clock.nowMs)],
  )
  return at(rows, 0)
}

/**
 * Returns the contradictions that the reconciliation finds, over everything or since the newest seal, in the form of
 * `overdueLines`.
 */
export async function reconcile({ pool }: BillingDatabase, whole: boolean): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; count: bigint }>({
    name: 'reconcile',
    text: 'select * from reconcile(whole => $1)',
    values: [whole],
  })
  expect(rows.length).toBeGreaterThan(15)
  return rows.filter(({ count }) => count !== 0n).map(({ name, count }) => `reconciliation: ${name} ${count}`)
}

/** Deletes a reservation that has not been settled, with its hold. */
export async function forgetReservation({ pool }: BillingDatabase, id: string): Promise<void> {
  await pool.query(
    `with gone as (
       delete from reservations r where r.id = $1 and not exists (select from usage u where u.reservation_id = r.id)
       returning *
     ), unbudgeted as (
       update key_budgets b set held = b.held - g.amount
       from gone g where g.state = 'held' and b.key_id = g.key_id and b.period_start = g.budget_period
     )
     update accounts a set held = a.held - g.amount from gone g where g.state = 'held' and a.id = g.account_id`,
    [id],
  )
}

/** Returns the contents of the database as sorted lines, in the form of `toLines`. */
export async function readLines({ pool }: BillingDatabase): Promise<string[]> {
  const { rows } = await pool.query<{ lines: string }>({ name: 'read-lines', text: LINES })
  return at(rows, 0).lines.split('\n').sort()
}

/** Reads all lines as one row, because the client reads one row in a fraction of the time of many. */
const LINES = `
  select string_agg(line, E'\\n') as lines from (
    select format('account %s: posted %s held %s', id, posted, held) as line from accounts
    union all
    select format('budget %s %s: held %s spent %s', key_id,
      case when period_start = '-infinity' then 'ever' else extract(epoch from period_start)::bigint::text end, held, spent)
    from key_budgets
    union all
    select format('rate %s %s: requests %s tokens %s', key_id, extract(epoch from minute)::bigint / 60, requests, tokens)
    from key_rates
    union all
    select format('reservation %s: %s amount %s', id, state, coalesce(amount::text, 'none')) from reservations
    union all
    select format('ledger %s: entries %s sum %s', kind, count(*), sum(amount)) from ledger group by kind
    union all
    select format('alarms: %s', count(*)) from settlement_alarms
  ) all_lines`

async function readPrices({ pool }: BillingDatabase): Promise<Books['prices']> {
  const prices: Books['prices'] = new Map()
  const { rows } = await pool.query<{
    id: bigint
    model: string
    effective_from: Date
    input_price: bigint
    cached_input_price: bigint
    output_price: bigint
  }>('select * from price_versions')
  for (const row of rows) {
    const price = {
      version: row.id,
      fromMs: row.effective_from.getTime(),
      prices: {
        inputPriceNano: row.input_price,
        cachedInputPriceNano: row.cached_input_price,
        outputPriceNano: row.output_price,
      },
    }
    prices.set(row.model, [...(prices.get(row.model) ?? []), price])
  }
  return prices
}

/** Returns the value at an index. Throws if there is none. */
export function at<Value>(values: readonly Value[], place: number): Value {
  const value = values[place]
  if (value === undefined) throw new Error(`there is no ${place}`)
  return value
}
