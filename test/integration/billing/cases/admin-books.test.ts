import { createHash, randomUUID } from 'node:crypto'
import { Registry } from '@prometheus-io/client'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { createMetrics } from '#apps/billing/metrics.ts'
import { checkBooks } from '#apps/billing/books/check-books.ts'
import {
  ADMIN_TOKEN,
  log,
  reserveCall,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { refusal } from '../support/operator.ts'
import { test } from '../support/own-database-test.ts'

const Page = z.object({ data: z.array(z.record(z.string(), z.unknown())), nextCursor: z.string().nullable() })
const list = async (database: BillingDatabase, path: string) =>
  Page.parse((await database.operator.ask('GET', path)).body)

async function spend(
  database: BillingDatabase,
  keyId: string,
  fields: { model?: string; completionTokens?: number } = {},
) {
  const { model = 'chat', completionTokens = 50 } = fields
  const call = reserveCall(keyId, { model, deadlineMs: database.clock.nowMs + 600_000 })
  await database.money.reserve([call])
  await database.money.settle([settlement(call.reservationId, { completionTokens })])
  return call.reservationId
}

async function exportLedger(
  database: BillingDatabase,
  query: string,
): Promise<{ status: number; type: unknown; text: string }> {
  const response = await database.admin.inject({
    method: 'GET',
    url: `/admin/v1/ledger${query}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  return { status: response.statusCode, type: response.headers['content-type'], text: response.body }
}

const Entry = z.object({
  seq: z.string(),
  kind: z.string(),
  ref: z.string(),
  debitAccount: z.string(),
  creditAccount: z.string(),
  amountNano: z.string(),
  postedAt: z.string(),
  cursor: z.string(),
})
const readEntries = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Entry.parse(JSON.parse(line)))

describe('usage', () => {
  test('is summed up by day, account, key and model, and by fewer of them', async ({ database }) => {
    const one = await database.createAccount(1_000_000n)
    const two = await database.createAccount(1_000_000n)
    await spend(database, one.keyId)
    await spend(database, one.keyId, { completionTokens: 10 })
    await spend(database, one.keyId, { model: 'odd' })
    await spend(database, two.keyId)
    database.clock.nowMs = Date.parse('2030-01-01T23:59:59.999Z')
    await spend(database, one.keyId)
    database.clock.nowMs += 1
    await spend(database, one.keyId)

    const path = '/usage?from=2030-01-01&to=2030-01-02'
    const { data } = await list(database, `${path}&account=${one.accountId}`)
    expect(data).toEqual([
      {
        day: '2030-01-01',
        accountId: one.accountId,
        keyId: one.keyId,
        model: 'chat',
        requests: 3,
        promptTokens: 300,
        cachedTokens: 0,
        completionTokens: 110,
        costNano: '1700',
        chargedNano: '1700',
        writtenOffNano: '0',
      },
      expect.objectContaining({ day: '2030-01-01', model: 'odd', requests: 1, chargedNano: '96' }),
      expect.objectContaining({ day: '2030-01-02', model: 'chat', requests: 1 }),
    ])
    expect((await list(database, `${path}&by=model`)).data).toMatchObject([
      { day: null, accountId: null, keyId: null, model: 'chat', requests: 5 },
      { model: 'odd', requests: 1 },
    ])
    expect((await list(database, `${path}&by=day&key=${two.keyId}`)).data).toMatchObject([
      { day: '2030-01-01', requests: 1 },
    ])
    expect((await list(database, '/usage?from=2030-01-02&to=2030-01-02&by=day')).data).toMatchObject([
      { requests: 1 },
    ])
    const all = await list(database, path)
    const first = await list(database, `${path}&limit=3`)
    const second = await list(database, `${path}&limit=3&cursor=${first.nextCursor}`)
    expect([...first.data, ...second.data]).toEqual(all.data)
    expect(all.data).toHaveLength(4)
  })

  test.for([
    ['', 'from'],
    ['?from=2030-01-01', 'to'],
    ['?from=2030-01-02&to=2030-01-01', 'to'],
    ['?from=2030-01-01&to=2031-01-02', 'to'],
    ['?from=2030-02-30&to=2030-03-01', 'from'],
    ['?from=2030-01-01&to=2030-01-01&by=moon', 'by.0'],
    ['?from=2030-01-01&to=2030-01-01&cursor=W10', 'cursor'],
  ] as const)('is refused for no range of days: %s', async ([query, param], { ask }) => {
    expect(await ask('GET', `/usage${query}`)).toEqual({
      status: 400,
      body: refusal('invalid_request', param),
    })
  })

  test('of an account, a key or a model that is not there is unknown, not nothing', async ({ ask }) => {
    const path = '/usage?from=2030-01-01&to=2030-01-01'
    for (const filter of [`account=${randomUUID()}`, `key=${randomUUID()}`]) {
      expect(await ask('GET', `${path}&${filter}`)).toEqual({ status: 404, body: refusal('not_found') })
    }
    expect(await ask('GET', `${path}&model=chatt`)).toEqual({
      status: 404,
      body: refusal('not_found', 'model'),
    })
  })
})

describe('the export of the ledger', () => {
  test('has every entry once, of one account or of all, whatever the size of the portions', async ({
    database,
    ask,
  }) => {
    const one = await database.createAccount(10_000_000n)
    const two = await database.createAccount(1_000n)
    await spend(database, two.keyId)
    await ask('POST', `/accounts/${one.accountId}/adjustments`, {
      amountNano: '-5',
      idempotencyKey: 'a',
      reason: 'r',
    })
    // More entries than two portions of an export have.
    await database.pool.query(
      `insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
       select 'topup', gen_random_uuid(), '00000000-0000-0000-0000-000000000001', $1, 1, $2
       from generate_series(1, 2500)`,
      [one.accountId, new Date(START_MS)],
    )
    const { status, type, text } = await exportLedger(database, '')
    expect([status, type]).toEqual([200, 'application/jsonl; charset=utf-8'])
    const entries = readEntries(text)
    const { rows } = await database.pool.query<{ seq: string }>(
      'select seq::text from ledger order by ledger.seq',
    )
    expect(rows).toHaveLength(2_504)
    expect(entries.map(({ seq }) => seq).join()).toBe(rows.map(({ seq }) => seq).join())
    const mine = readEntries((await exportLedger(database, `?account=${one.accountId}`)).text)
    expect(mine).toEqual(
      entries.filter(({ debitAccount, creditAccount }) =>
        [debitAccount, creditAccount].includes(one.accountId),
      ),
    )
    expect(mine.map(({ kind }) => kind).slice(0, 2)).toEqual(['topup', 'adjustment'])
    await database.pool.query('alter table ledger disable trigger ledger_append_only')
    await database.pool.query("delete from ledger where kind = 'topup' and amount = 1")
    await database.pool.query('alter table ledger enable trigger ledger_append_only')
  })

  test('continues after the cursor of any entry, and ends at its limit', async ({ database }) => {
    const { keyId } = await database.createAccount(10_000n)
    for (let count = 0; count < 5; count += 1) await spend(database, keyId)
    const all = readEntries((await exportLedger(database, '')).text)
    const first = readEntries((await exportLedger(database, '?limit=2')).text)
    const rest = readEntries((await exportLedger(database, `?cursor=${first.at(-1)?.cursor}`)).text)
    expect([...first, ...rest]).toEqual(all)
    expect(all).toHaveLength(6)
    expect(await exportLedger(database, `?cursor=${all.at(-1)?.cursor}`)).toMatchObject({
      status: 200,
      text: '',
    })
  })

  test('comes as CSV too', async ({ database }) => {
    const { accountId } = await database.createAccount(10_000n)
    const { type, text } = await exportLedger(database, '?format=csv')
    expect(type).toBe('text/csv; charset=utf-8')
    const [header, line, end] = text.split('\r\n')
    expect(header).toBe('seq,kind,ref,debitAccount,creditAccount,amountNano,postedAt,cursor')
    expect(line?.split(',')).toEqual(
      Object.values(readEntries((await exportLedger(database, '')).text)[0] ?? {}),
    )
    expect(line).toContain(`,topup,`)
    expect(line).toContain(accountId)
    expect(end).toBe('')
  })

  test('leaves out nothing that was still being written: it waits for it', async ({ database }) => {
    const { accountId } = await database.createAccount(2_000_000_000n)
    const writer = await database.pool.connect()
    const topUp = (key: string) =>
      `select top_up(
        movement => gen_random_uuid(), account => '${accountId}', amount => 1, why => 'r', key => '${key}', at => '2030-01-01')`
    await writer.query('begin')
    await writer.query(topUp('slow'))
    const other = await database.createAccount(5n)
    const exported = exportLedger(database, '')
    await expect
      .poll(async () => {
        const { rows } = await database.pool.query(
          "select from pg_stat_activity where state = 'active' and query like '%ledger_horizon%' and pid <> pg_backend_pid() and datname = current_database()",
        )
        return rows.length
      })
      .toBe(1)
    await writer.query('commit')
    writer.release()
    const seqs = readEntries((await exported).text).map(({ seq }) => Number(seq))
    expect(seqs).toHaveLength(3)
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b))
    expect(await database.balance(other.accountId)).toMatchObject({ posted: 5n })
  })

  test('of an unknown account or format is refused', async ({ ask }) => {
    expect(await ask('GET', '/ledger?account=00000000-0000-4000-8000-000000000000')).toEqual({
      status: 404,
      body: refusal('not_found'),
    })
    expect(await ask('GET', '/ledger?format=xml')).toEqual({
      status: 400,
      body: refusal('invalid_request', 'format'),
    })
  })
})

describe('reconciliation', () => {
  test('counts the rows that contradict', async ({ database, ask }) => {
    const { accountId } = await database.createAccount(1_000n)
    await database.pool.query('update accounts set posted = posted + 1 where id = $1', [accountId])
    for (const whole of [true, false]) {
      const { status, body } = await ask('GET', `/reconciliation?whole=${whole}`)
      expect(status).toBe(200)
      expect(body).toMatchObject({ whole, agrees: false })
      expect(body).toHaveProperty(
        'counts',
        expect.arrayContaining([{ question: 'posted-differs-from-ledger', rows: 1 }]),
      )
    }
    await database.pool.query('update accounts set posted = posted - 1 where id = $1', [accountId])
    expect((await ask('GET', '/reconciliation')).body).toMatchObject({ whole: false, agrees: true })
  })

  test('is made on a schedule by one replica, shown by all, with a seal each day', async ({ database }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    await spend(database, keyId)
    await database.pool.query('update accounts set posted = posted + 1 where id = $1', [accountId])
    const replicas = [1, 2].map(() => {
      const registry = new Registry()
      const stop = checkBooks({
        pool: database.servicePool,
        everyMs: 900_000,
        checkMs: 10,
        readNowMs: async () => database.clock.nowMs,
        metrics: createMetrics(registry, () => 0),
        log,
      })
      return { registry, stop }
    })
    const wrongRows = () =>
      Promise.all(
        replicas.map(
          async ({ registry }) =>
            /_rows\{question="posted-differs-from-ledger"\} (\d+)/.exec(await registry.metrics())?.[1],
        ),
      )
    await expect.poll(wrongRows).toEqual(['1', '1'])
    await database.pool.query('update accounts set posted = posted - 1 where id = $1', [accountId])
    database.clock.nowMs += 900_000
    await expect.poll(wrongRows).toEqual(['0', '0'])
    expect((await list(database, '/reconciliation/runs')).data).toMatchObject([
      { at: '2030-01-01T00:15:00.000Z', agrees: true },
      { at: '2030-01-01T00:00:00.000Z', agrees: false },
    ])

    database.clock.nowMs += 86_400_000
    await expect.poll(async () => (await list(database, '/seals')).data.length).toBe(2)
    await Promise.all(replicas.map(({ stop }) => stop()))
    const { data } = await list(database, '/seals?limit=1')
    expect(data).toMatchObject([{ day: '2030-01-02', entries: '0' }])
    const { nextCursor } = await list(database, '/seals?limit=1')
    const [seal] = (await list(database, `/seals?cursor=${nextCursor}`)).data
    expect(seal).toMatchObject({ day: '2030-01-01', entries: '2' })
    expect(seal).toHaveProperty('sha256', chainOf(readEntries((await exportLedger(database, '')).text)))
  })
})

/**
 * Hashes exported entries in the documented form, which `ledger_line` writes too, to compare the export with the seals.
 */
function chainOf(entries: readonly z.infer<typeof Entry>[]): string {
  let hash = createHash('sha256').update('').digest()
  for (const { seq, kind, ref, debitAccount, creditAccount, amountNano, postedAt } of entries) {
    const line = [seq, kind, ref, debitAccount, creditAccount, amountNano, postedAt].join('|')
    hash = createHash('sha256').update(hash).update(line).digest()
  }
  return hash.toString('hex')
}
