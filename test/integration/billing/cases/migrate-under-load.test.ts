import { randomUUID } from 'node:crypto'
import { Client, type Pool } from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '#apps/billing/database/migrate.ts'
import { connectionConfig, openPool } from '#apps/billing/database/open-pool.ts'
import { createDatabase, type TestDatabase } from '../../../support/postgres.ts'
import { log } from '../support/billing-database.ts'
import { createOlderMoney, prepareOlder } from '../support/older-money.ts'

// A billing service of the version before goes on with money while the new one migrates and after it.

const CALLERS = 8
const CREDITS = 1_000_000_000n

let database: TestDatabase
let pool: Pool
let olderPool: Pool

beforeEach(async () => {
  database = await createDatabase()
  pool = await openPool({ url: database.url, log, waitMs: 5_000 })
  olderPool = await openPool({ url: database.url, log, waitMs: 5_000 })
})
afterEach(async () => {
  await Promise.all([pool.end(), olderPool.end()])
  await database.drop()
})

test(
  'the older version reserves, replaces, releases and settles through all migrations, behind a long reader',
  { timeout: 180_000 },
  async () => {
    const { keyId } = await prepareOlder(pool, CREDITS)
    const load = startLoad(keyId)
    await load.cycles(40)

    const reader = new Client(connectionConfig(database.url))
    await reader.connect()
    await reader.query('set idle_in_transaction_session_timeout = 0')
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from reservations, ledger, usage, api_keys where false')
    const gaveWay = Promise.withResolvers<void>()
    const migrating = migrate(pool, watchLog('migration gave way', gaveWay.resolve))
    await gaveWay.promise
    await load.cycles(40)
    await reader.query('commit')
    await reader.end()
    await migrating

    await load.cycles(40)
    const truth = await load.stop()
    expect(truth.failures).toEqual([])
    // The older service and its gateways give a call up after 2 s.
    expect(truth.slowestMs).toBeLessThan(2_000)

    const { rows } = await pool.query<{ reservation_id: string; charged: bigint }>(
      'select reservation_id, charged from usage',
    )
    expect(new Map(rows.map((row) => [row.reservation_id, row.charged]))).toEqual(truth.charges)
    const total = [...truth.charges.values()].reduce((sum, charged) => sum + charged, 0n)
    const balance = await pool.query('select posted, held from accounts')
    expect(balance.rows).toEqual([{ posted: CREDITS - total, held: 0n }])
    const questions = await pool.query<{ name: string; count: bigint }>('select * from reconcile_v1(true)')
    expect(questions.rows.length).toBeGreaterThan(10)
    expect(questions.rows.filter((row) => row.count !== 0n)).toEqual([])
    const writeOffs = await pool.query("select count(*)::int as count from ledger where kind = 'write-off'")
    expect(writeOffs.rows).toEqual([{ count: truth.writeOffs }])
  },
)

/** Callers that go on without a pause until `stop`, which tells what they were answered. */
function startLoad(keyId: string) {
  const money = createOlderMoney(olderPool)
  const charges = new Map<string, bigint>()
  const failures: unknown[] = []
  const stopping = new AbortController()
  let [slowestMs, writeOffs, cycles] = [0, 0, 0]
  let awaited: { count: number; resolve: () => void } | undefined

  async function timed<Answer>(call: Promise<Answer>): Promise<Answer> {
    const startedMs = performance.now()
    const answer = await call
    slowestMs = Math.max(slowestMs, performance.now() - startedMs)
    return answer
  }

  async function cycle() {
    const [cheap, dear, released] = [randomUUID(), randomUUID(), randomUUID()]
    const statuses = await timed(money.reserve([cheap, dear, released], keyId))
    const replaced = await timed(money.replace(cheap))
    const isReleased = await timed(money.release(released))
    const [cheapNano = -1n] = await timed(money.settle([cheap], 10))
    const [dearNano = -1n] = await timed(money.settle([dear], 500))
    charges.set(cheap, cheapNano).set(dear, dearNano)
    writeOffs += 1
    await timed(money.sweep())
    expect([...statuses, replaced, isReleased]).toEqual(['granted', 'granted', 'granted', 'granted', true])
    // 90 tokens in, 10 out; and what was held, because 500 tokens out cost more.
    expect([cheapNano, dearNano]).toEqual([280n, 700n])
  }

  async function call() {
    while (!stopping.signal.aborted) {
      await cycle().catch((error: unknown) => {
        failures.push(error)
        stopping.abort()
      })
      cycles += 1
      if (awaited !== undefined && (stopping.signal.aborted || cycles >= awaited.count)) awaited.resolve()
    }
  }

  const callers = Array.from({ length: CALLERS }, call)
  return {
    /** Resolves after that many further cycles, of all callers together; rejects at the first failure. */
    async cycles(count: number) {
      const { promise, resolve } = Promise.withResolvers<void>()
      awaited = { count: cycles + count, resolve }
      await promise
      expect(failures).toEqual([])
    },
    async stop() {
      stopping.abort()
      await Promise.all(callers)
      return { charges, failures, slowestMs, writeOffs }
    },
  }
}

function watchLog(message: string, onSeen: () => void) {
  return pino({}, { write: (line) => (line.includes(message) ? onSeen() : undefined) })
}
