import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addLedgerRows } from '../../../bench/growth/ledger-rows.ts'
import { scratchFolder } from '../../support/run-folder.ts'
import { uuidV7 } from '../../support/uuid-v7.ts'
import {
  ADMIN_TOKEN,
  openBillingDatabase,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../billing/support/billing-database.ts'
import { readReceipt } from '../billing/support/proven.ts'
import { millrace, spawnMillrace, type Ended } from './millrace.ts'

// A year of data in 13 months; 6 months are archived. The tests build on each other and run in this order.

/** The starts of the months from January 2030 to February 2031: 13 months, and the end of the last one. */
const STARTS = Array.from({ length: 14 }, (_, month) => Date.UTC(2030, month))
const startOf = (month: number) => STARTS[month] ?? 0
const ROWS = 300

let database: BillingDatabase
let url: string
let folder: string
/** The key with a spend limit in total, and its account. */
let account: { accountId: string; keyId: string }
/** For each month, a request from its last millisecond that is settled in the next month. */
const late: string[] = []
/** A request from January that is settled in January. */
let early: { id: string; receipt: string | null }

beforeAll(async () => {
  database = await openBillingDatabase()
  url = await database.admin.listen({ port: 0, host: '127.0.0.1' })
  folder = scratchFolder('archive')
  database.clock.nowMs = startOf(0)
  account = await database.createAccount(1_000_000_000n)
  await database.pool.query("update api_keys set spend_limit = 900000000, spend_period = 'total'")
  await database.pool.query('update api_keys set version = version')
  for (const month of Array.from({ length: 13 }).keys()) await liveThrough(month)
}, 240_000)
afterAll(() => database.close())

/** Runs billing through a month: partitions, seals, requests, and a hold that is still open at the end of the month. */
async function liveThrough(month: number): Promise<void> {
  const { pool, money, clock } = database
  const [start, end] = [startOf(month), startOf(month + 1)]
  await pool.query('select prepare_months(at => $1)', [new Date(start)])
  clock.nowMs = start + 1_000
  const previous = late.at(-1)
  // In even months, the late request is settled before the first seal and gets a number of the previous month. In odd
  // months, it is settled after the seal.
  if (previous !== undefined && month % 2 === 0) await money.settle([settlement(previous)])
  await seal(start + 2_000)
  if (previous !== undefined && month % 2 === 1) await money.settle([settlement(previous)])
  const call = reserveCall(account.keyId, {
    reservationId: uuidV7(start + 3_000),
    deadlineMs: start + 600_000,
  })
  const [held] = await money.reserve([call])
  await money.settle([settlement(call.reservationId)])
  if (month === 0)
    early = { id: call.reservationId, receipt: held?.status === 'granted' ? held.receipt : null }
  await addLedgerRows(
    async (statements) => {
      const client = await pool.connect()
      try {
        for (const statement of statements) await client.query(statement)
      } finally {
        client.release()
      }
    },
    { rows: ROWS, fromMs: start + 86_400_000, untilMs: end - 86_400_000, model: 'chat' },
  )
  await pool.query(
    `insert into key_budgets as b (key_id, period_start, spent)
     select key_id, '-infinity', sum(charged) from usage where settled_by = 'bench' and settled_at >= $1 group by 1
     on conflict (key_id, period_start) do update set spent = b.spent + excluded.spent`,
    [new Date(start)],
  )
  await pool.query(
    "update reservations set budget_period = '-infinity' where created_at >= $1 and budget_period is null",
    [new Date(start)],
  )
  await database.operator.topUp(account.accountId, { nano: 5n, idempotencyKey: `month ${month}` })
  clock.nowMs = end - 1
  const last = reserveCall(account.keyId, { reservationId: uuidV7(end - 1), deadlineMs: end + 600_000 })
  await money.reserve([last])
  late.push(last.reservationId)
}

async function seal(atMs: number): Promise<void> {
  await database.pool.query('select seal_ledger(at => $1)', [new Date(atMs)])
}

async function note(): Promise<void> {
  const { rows } = await database.pool.query(
    'select name as question, count::int as rows from reconcile(false)',
  )
  await database.pool.query('insert into reconciliation_runs (at, counts) values ($1, $2)', [
    new Date(database.clock.nowMs),
    JSON.stringify(rows),
  ])
}

const access = () => ({ MILLRACE_ADMIN_URL: url, MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN })

const run = async (...words: string[]): Promise<Ended> => await millrace(words, access())

const archiving = (before: string) =>
  ['ledger', 'archive', '--before', before, '--to', folder, '--reason', 'yearly'] as const

const archive = async (before: string) => await run(...archiving(before))

const balances = async () =>
  (await database.pool.query('select id, posted, held from accounts order by id')).rows

describe('a month is refused', () => {
  test('while the books were not compared, and nothing is written', async () => {
    const { code, stderr } = await archive('2030-02')
    expect([code, stderr]).toEqual([1, 'Nothing was archived. 2030-01: the books were not compared yet.\n'])
    await note()
    expect(await readdir(folder)).toEqual([])
  })

  test('while it is within the months that are kept', async () => {
    // It is January 2031, so October to December are not archived.
    const { code, stderr } = await archive('2030-12')
    const kept = 'it is kept: the 3 months before the present one stay'
    expect([code, stderr]).toEqual([1, `Nothing was archived. 2030-10: ${kept}; 2030-11: ${kept}.\n`])
  })

  test('while one of its holds is open', async () => {
    const open = reserveCall(account.keyId, { reservationId: uuidV7(startOf(0) + 5), deadlineMs: startOf(1) })
    await database.money.reserve([open])
    const { code, stderr } = await archive('2030-02')
    expect([code, stderr]).toEqual([1, 'Nothing was archived. 2030-01: it has open holds.\n'])
    await database.pool.query(
      'update accounts set held = held - (select amount from reservations where id = $1) where id = $2',
      [open.reservationId, account.accountId],
    )
    await database.pool.query(
      'update key_budgets set held = held - (select amount from reservations where id = $1) where key_id = $2',
      [open.reservationId, account.keyId],
    )
    await database.pool.query("update reservations set state = 'released', closed_at = $2 where id = $1", [
      open.reservationId,
      new Date(startOf(0) + 10),
    ])
  })

  test('while an older one is in the database, or its files are others', async () => {
    const files = Object.fromEntries(
      ['ledger', 'usage', 'reservations'].map((part) => [part, { lines: 1, sha256: '0'.repeat(64) }]),
    )
    const ask = async (month: string) =>
      await database.operator.ask('POST', '/months/archive', { month, files, reason: 'r' })
    expect(await ask('2030-02')).toMatchObject({
      status: 409,
      body: { error: { message: '2030-01 is older than 2030-02, and comes first.' } },
    })
    const { status, body } = await ask('2030-01')
    expect(status).toBe(409)
    expect(JSON.stringify(body)).toContain('The file of ledger is not what the database has: 1 lines')
  })
})

test('six months leave the database, and books, seals and balances hold', async () => {
  await database.expectReconciled()
  const before = await balances()
  const { code, stderr } = await spawnMillrace(archiving('2030-07'), access())
  expect([code, stderr]).toEqual([
    0,
    ['01', '02', '03', '04', '05', '06'].map((month) => `2030-${month} is archived\n`).join(''),
  ])
  expect(await balances()).toEqual(before)
  await database.expectReconciled()
  await note()
  const { rows } = await database.pool.query<{ name: string; rows: bigint }>(
    'select name, count as rows from reconcile(whole => false) where count <> 0',
  )
  expect(rows).toEqual([])
  const left = await database.pool.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits join pg_class on oid = inhparent where relname = 'ledger' order by 1",
  )
  expect(left.rows.map(({ name }) => name)).toEqual(
    ['07', '08', '09', '10', '11', '12']
      .map((month) => `ledger_2030${month}`)
      .concat('ledger_203101', 'ledger_203102', 'ledger_203103'),
  )
  expect((await run('audit', '--action', 'archiveMonth')).stdout.match(/yearly/g)).toHaveLength(6)
})

test('the files are as they were archived, from the first seal to the last, and a changed one is noticed', async () => {
  const manifests = (await readdir(folder)).filter((name) => name.endsWith('.manifest.json')).toSorted()
  expect(manifests).toHaveLength(6)
  for (const name of manifests) {
    const { code, stdout } = await run('ledger', 'verify', join(folder, name))
    expect([code, stdout]).toEqual([0, expect.stringContaining('is as it was archived')])
  }
  const path = join(folder, '2030-03.ledger.jsonl.gz')
  const original = readFileSync(path)
  const lines = gunzipSync(original).toString()
  const changed = lines.replace(
    /"amountNano":"(\d+)"/,
    (_, amount: string) => `"amountNano":"${BigInt(amount) + 1n}"`,
  )
  for (const damaged of [gzipSync(changed), original.subarray(0, original.length / 2)]) {
    writeFileSync(path, damaged)
    const { code, stdout } = await run('ledger', 'verify', join(folder, '2030-03.manifest.json'))
    expect([code, stdout]).toEqual([1, expect.stringContaining('2030-03 IS NOT AS IT WAS ARCHIVED')])
  }
  expect((await archive('2030-07')).code).toBe(1)
  writeFileSync(path, original)
})

test('the command can be repeated: what is archived stays as it is', async () => {
  const { stdout } = await run('ledger', 'months')
  expect(stdout.match(/^2030-0[1-6] +archived /gm)).toHaveLength(6)
  expect(stdout).toMatch(/^2030-07 +ready /m)
  const before = readFileSync(join(folder, '2030-01.manifest.json'), 'utf8')
  expect(await archive('2030-07')).toMatchObject({ code: 0, stderr: 'nothing found\n' })
  expect(readFileSync(join(folder, '2030-01.manifest.json'), 'utf8')).toBe(before)
})

describe('of an archived request', () => {
  test('billing answers in which files it is, and they still prove it', async () => {
    const { code, stderr } = await run('requests', 'show', early.id)
    expect(code).toBe(1)
    expect(stderr).toContain(`ledger verify 2030-01.manifest.json --request ${early.id}`)
    const verify = ['ledger', 'verify', join(folder, '2030-01.manifest.json'), '--request', early.id]
    const shown = await spawnMillrace(verify, access())
    expect(shown.code).toBe(0)
    expect(shown.stdout).toMatch(/^ledger .*"kind":"charge".*\nusage .*"costNano":"700".*\nreservations /)
  })

  test('its receipt charges nothing a second time, and raises an alarm', async () => {
    expect(early.receipt).not.toBeNull()
    const before = await balances()
    const entry = settlement(early.id, { receipt: early.receipt ?? '' })
    expect(readReceipt(early.receipt ?? '', early.id)).not.toBeNull()
    expect(await database.money.settle([entry])).toMatchObject([{ result: 'unknown', chargedNano: 0n }])
    expect(await balances()).toEqual(before)
    await database.expectReconciled()
  })

  test('one that was settled after its month is in the database and replays', async () => {
    for (const id of late.slice(0, 6)) {
      expect(await database.money.settle([settlement(id)])).toMatchObject([
        { result: 'replayed', chargedNano: 700n },
      ])
    }
  })
})

test('sums and exports over archived months are refused, those after them are complete', async () => {
  const usage = await run('usage', '--from', '2030-06-30', '--to', '2030-07-02')
  expect([usage.code, usage.stderr]).toEqual([
    1,
    'Usage is here from 2030-07-01 on; before that it is in the files of 2030-06 and before. (archived)\n',
  ])
  const day = await run('usage', '--from', '2030-07-01', '--to', '2030-07-01', '--by', 'day', '--json')
  // The two requests are the late request of June and the request of this day.
  expect(JSON.parse(day.stdout)).toMatchObject({ data: [{ requests: 2, chargedNano: '1400' }] })
  const exported = await run('ledger', 'export')
  expect(exported.code).toBe(1)
  const cursor = /cursor (\S+?)\./.exec(exported.stderr)?.[1] ?? ''
  const rest = await run('ledger', 'export', '--cursor', cursor)
  expect(rest.code).toBe(0)
  const { rows } = await database.pool.query<{ count: number }>('select count(*)::int from ledger')
  expect(rest.stdout.trimEnd().split('\n')).toHaveLength(rows[0]?.count ?? -1)
})

test('what is carried of archived months cannot be changed without notice', async () => {
  const broken = async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      'select name from reconcile(whole => true) where count <> 0 order by 1',
    )
    return rows.map(({ name }) => name)
  }
  await database.pool.query('update archived_balances set balance = balance + 1 where account = $1', [
    account.accountId,
  ])
  expect(await broken()).toEqual(['archive-broken', 'posted-differs-from-ledger'])
  await database.pool.query('update archived_balances set balance = balance - 1 where account = $1', [
    account.accountId,
  ])
  await database.pool.query('create table saved as select * from archived_balances')
  await database.pool.query('truncate archived_balances')
  expect(await broken()).toContain('archive-broken')
  await database.pool.query('insert into archived_balances select * from saved; drop table saved')
  expect(await broken()).toEqual([])
})

test('a command that was killed while it wrote leaves the month in the database, and the next one archives it', async () => {
  writeFileSync(join(folder, '2030-07.ledger.jsonl.gz.part'), 'cut off')
  writeFileSync(join(folder, '2030-07.usage.jsonl.gz'), 'of an earlier attempt')
  expect((await archive('2030-08')).code).toBe(0)
  expect(existsSync(join(folder, '2030-07.ledger.jsonl.gz.part'))).toBe(false)
  expect((await run('ledger', 'verify', join(folder, '2030-07.manifest.json'))).code).toBe(0)
  const { rows } = await database.pool.query("select to_regclass('usage_203007') as left")
  expect(rows).toEqual([{ left: null }])
  await database.expectReconciled()
})
