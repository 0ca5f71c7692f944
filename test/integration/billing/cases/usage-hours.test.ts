import * as fc from 'fast-check'
import type { ClientBase, Pool, PoolClient } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { rollHours } from '#apps/billing/books/roll-hours.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import {
  only,
  openBillingDatabase,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'

const HOUR_MS = 3_600_000

/** A fixed hour, so that no test begins in one hour and ends in the next. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS

let database: BillingDatabase
const clients: PoolClient[] = []

describe('a random history', () => {
  beforeAll(async () => {
    database = await openBillingDatabase()
  })
  afterAll(() => database.close())

  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('settle' as const),
        key: fc.nat({ max: 1 }),
        model: fc.constantFrom('chat', 'odd'),
        outcome: fc.constantFrom('completed' as const, 'cancelled' as const, 'fault' as const),
        promptTokens: fc.integer({ min: 0, max: 400 }),
        completionTokens: fc.integer({ min: 0, max: 90 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        ms: fc.constantFrom(1, 1_799_999, 1_800_000, HOUR_MS, 30 * HOUR_MS),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('roll' as const) }) },
  )

  test('has the same sums whether its hours are closed or not', { timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const one = await database.createAccount(10_000_000n)
      const keys = [one.keyId, (await database.operator.createKey(one.accountId)).keyId]
      const from = dayOf(database.clock.nowMs)
      const expected = new Map<string, Sums>()
      for (const taken of steps) {
        if (taken.kind === 'wait') database.clock.nowMs += taken.ms
        else if (taken.kind === 'roll') await roll(database.servicePool, database.clock.nowMs)
        else {
          const { key, model, ...used } = taken
          const keyId = keys[key] ?? ''
          const place = `${dayOf(database.clock.nowMs)} ${keyId} ${model}`
          expected.set(place, add(expected.get(place), await settle({ keyId, model, ...used })))
        }
        const input = { from, to: dayOf(database.clock.nowMs), account: one.accountId, limit: 500 }
        const { data } = await database.operator.call(ADMIN.summarizeUsage, input)
        const found = data.map(({ day, keyId, model, ...sums }) => [`${day} ${keyId} ${model}`, toSums(sums)])
        expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
      }
      await database.expectReconciled()
    })
    await fc.assert(property, { numRuns: 30 })
    const { rows } = await database.pool.query('select from usage_hours limit 20')
    expect(rows).toHaveLength(20)
  })

  async function settle({ keyId, model, ...used }: { keyId: string; model: string } & Used): Promise<Sums> {
    const call = reserveCall(keyId, {
      reservationId: uuidV7(database.clock.nowMs),
      model,
      deadlineMs: database.clock.nowMs + 600_000,
    })
    await database.money.reserve([call])
    const cachedTokens = Math.floor(used.promptTokens / 3)
    const [answer] = await database.money.settle([settlement(call.reservationId, { ...used, cachedTokens })])
    if (answer === undefined) throw new Error('there is no answer')
    return {
      requests: 1,
      promptTokens: used.promptTokens,
      cachedTokens,
      completionTokens: used.completionTokens,
      costNano: answer.costNano,
      chargedNano: answer.chargedNano,
    }
  }
})

describe('a closed hour', () => {
  beforeEach(async () => {
    database = await openBillingDatabase()
  })
  afterEach(async () => {
    for (const client of clients.splice(0)) client.release()
    const wrong = await countWrong()
    await database.close()
    if (wrong > 0) throw new Error(`the sums of ${wrong} hours are wrong`)
  })

  test('is one that ended 30 minutes ago, and hours without usage are passed over', async () => {
    await insert(database.pool, HOUR - 2 * HOUR_MS + 1)
    const closing = HOUR - HOUR_MS + 1_800_000
    await roll(database.servicePool, closing - 1)
    expect(await readHours()).toEqual([])
    await roll(database.servicePool, closing)
    expect(await readHours()).toEqual([{ hour: new Date(HOUR - 2 * HOUR_MS), requests: 1n, prompt: 100n }])
    expect(await readEnd()).toEqual(new Date(HOUR - HOUR_MS))
    await roll(database.servicePool, HOUR)
    expect(await readHours()).toHaveLength(1)
  })

  test('gets a row that is late, also one that is inserted while hours are closed', async () => {
    await insert(database.pool, HOUR - 5 * HOUR_MS)
    const [closing, late] = [await connect(), await connect()]
    await closing.query('begin')
    await roll(closing, HOUR)
    const inserted = insert(late, HOUR - 5 * HOUR_MS + 7)
    await expect.poll(() => countWaiting()).toBe(1)
    await closing.query('commit')
    await inserted
    expect(await readHours()).toEqual([{ hour: new Date(HOUR - 5 * HOUR_MS), requests: 2n, prompt: 200n }])
  })

  test('is not closed while a late row is not committed', async () => {
    await insert(database.pool, HOUR - 5 * HOUR_MS)
    const late = await connect()
    await late.query('begin')
    await insert(late, HOUR - 5 * HOUR_MS + 7)
    expect(await roll(database.servicePool, HOUR)).toBe(0)
    expect(await readHours()).toEqual([])
    await late.query('commit')
    expect(await roll(database.servicePool, HOUR)).toBe(1)
    expect(await readHours()).toMatchObject([{ requests: 2n }])
  })

  test('is closed by the service, a day with usage at a time', async () => {
    for (let hour = 2; hour < 52; hour += 1) await insert(database.pool, HOUR - hour * HOUR_MS)
    expect(await roll(database.servicePool, HOUR)).toBe(24)
    await rollHours(database.servicePool, new AbortController().signal)
    expect(await readHours()).toHaveLength(50)
  })

  test('that differs from its requests is counted by the reconciliation', async () => {
    await insert(database.pool, HOUR - 5 * HOUR_MS)
    await roll(database.servicePool, HOUR)
    await database.pool.query('update usage_hours set charged = charged - 1')
    expect(await countWrong()).toBe(1)
    await database.pool.query('delete from usage_hours')
    expect(await countWrong()).toBe(1)
    await database.pool.query("update usage_hours_end set until = '-infinity'")
    expect(await roll(database.servicePool, HOUR)).toBe(1)
  })

  test('counts a request once that stays when its month is archived', async () => {
    await query("select prepare_months(at => '2025-01-10')")
    // This request was made in January and settled in February.
    await insert(database.pool, Date.UTC(2025, 1, 1, 0, 0, 5), uuidV7(Date.UTC(2025, 1, 1) - 1))
    await insert(database.pool, Date.UTC(2025, 0, 20))
    await query("select seal_ledger(at => '2025-01-31')")
    await query("select prepare_months(at => '2025-05-01')")
    await query("select seal_ledger(at => '2025-05-01T00:00:01Z')")
    await roll(database.servicePool, HOUR)
    const before = await readHours()
    await query("insert into reconciliation_runs (at, counts) values (now(), '[]')")
    const file = { lines: 0, sha256: '00'.repeat(32) }
    await query(
      `select archive_month(month => '2025-01-01', keep => 1, files => '${JSON.stringify({ ledger: file, usage: file, reservations: file })}',
         since => now(), at => '2025-06-02')`,
    )
    const { rows } = await database.pool.query('select from usage')
    expect(rows).toHaveLength(1)
    expect(await readHours()).toEqual(before)
    expect(before).toHaveLength(2)
  })
})

type Used = {
  outcome: 'completed' | 'cancelled' | 'fault'
  promptTokens: number
  completionTokens: number
}

type Sums = {
  requests: number
  promptTokens: number
  cachedTokens: number
  completionTokens: number
  costNano: bigint
  chargedNano: bigint
}

function add(a: Sums | undefined, b: Sums): Sums {
  if (a === undefined) return b
  return {
    requests: a.requests + b.requests,
    promptTokens: a.promptTokens + b.promptTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    costNano: a.costNano + b.costNano,
    chargedNano: a.chargedNano + b.chargedNano,
  }
}

type Answered = Omit<Sums, 'costNano' | 'chargedNano'> & { costNano: string; chargedNano: string }

function toSums({ requests, promptTokens, cachedTokens, completionTokens, ...nano }: Answered): Sums {
  const [costNano, chargedNano] = [BigInt(nano.costNano), BigInt(nano.chargedNano)]
  return { requests, promptTokens, cachedTokens, completionTokens, costNano, chargedNano }
}

const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10)

const query = async (text: string) => await database.pool.query(text)

async function connect(): Promise<PoolClient> {
  const client = await database.pool.connect()
  clients.push(client)
  return client
}

async function roll(db: Pool | ClientBase, atMs: number): Promise<number> {
  const { rows } = await db.query<{ hours: number }>('select roll_usage(at => $1) as hours', [new Date(atMs)])
  return only(rows).hours
}

/** Inserts a settled request of one account, key and model. */
async function insert(db: Pool | ClientBase, atMs: number, id = uuidV7(atMs - 1_000)): Promise<void> {
  await db.query(
    `insert into usage values ($1, '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002',
       'chat', 1, 1, 'completed', 100, 0, 50, 700, 700, false, 'worker', $2)`,
    [id, new Date(atMs)],
  )
}

async function readHours() {
  const { rows } = await database.pool.query(
    'select hour, requests, prompt_tokens as prompt from usage_hours order by hour',
  )
  return rows
}

async function readEnd(): Promise<Date> {
  const { rows } = await database.pool.query<{ until: Date }>('select until from usage_hours_end')
  return only(rows).until
}

async function countWrong(): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    "select count::int from reconcile(true) where name = 'hours-differ-from-usage'",
  )
  return only(rows).count
}

async function countWaiting(): Promise<number> {
  const { rows } = await database.pool.query(
    "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert into usage%' and datname = current_database()",
  )
  return rows.length
}
