import { appendFile, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { expect } from 'vitest'
import { migrate } from '#apps/billing/database/migrate.ts'
import { scratchFolder } from '../../../support/run-folder.ts'
import {
  log,
  only,
  reserveCall,
  setWatermark,
  settlement,
  START_MS,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { test } from '../support/own-database-test.ts'

// The present version keeps serving money calls while a made-up next version migrates the database, and afterwards.

const CALLERS = 8
const CREDITS = 1_000_000_000n

test(
  'this version serves through a migration of tables, indexes, functions and roles, behind a long reader',
  { timeout: 180_000 },
  async ({ database }) => {
    const { pool } = database
    const { accountId, keyId } = await database.createAccount(CREDITS)
    const folder = await createNextVersion()
    const load = startLoad(database, keyId)
    await load.cycles(40)

    const reader = await pool.connect()
    await reader.query('set idle_in_transaction_session_timeout = 0')
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from reservations, ledger, usage, api_keys where false')
    const gaveWay = Promise.withResolvers<void>()
    const migrating = migrate(pool, watchLog('migration gave way', gaveWay.resolve), { folder })
    await gaveWay.promise
    await load.cycles(40)
    await reader.query('commit')
    reader.release(true)
    await migrating

    const before = await countNoted(database)
    await load.cycles(40)
    expect(await countNoted(database)).toBeGreaterThan(before)
    // A replica of the present version starts again after the migration.
    await migrate(pool, log)
    const truth = await load.stop()
    expect(truth.failures).toEqual([])
    // Gateways abandon a call after 2 s.
    expect(truth.slowestMs).toBeLessThan(2_000)

    const { rows } = await pool.query<{ reservation_id: string; charged: bigint }>(
      'select reservation_id, charged from usage',
    )
    expect(new Map(rows.map((row) => [row.reservation_id, row.charged]))).toEqual(truth.charges)
    const total = [...truth.charges.values()].reduce((sum, charged) => sum + charged, 0n)
    expect(await database.balance(accountId)).toEqual({ posted: CREDITS - total, held: 0n, openHolds: 0 })
    await database.expectReconciled()
    const writeOffs = await pool.query("select count(*)::int as count from ledger where kind = 'write-off'")
    expect(writeOffs.rows).toEqual([{ count: truth.writeOffs }])

    // The next version's function `settle` is still in place, and so is its index. Each cycle has two settlements.
    const last = await countNoted(database)
    await load.cycle()
    expect(await countNoted(database)).toBe(last + 2)
    const index = await pool.query(
      "select indisvalid from pg_index where indexrelid = 'usage_by_worker'::regclass",
    )
    expect(index.rows).toEqual([{ indisvalid: true }])
  },
)

/**
 * Creates the next version of the schema: a new column, a new table that `settle` writes and the service may use, an
 * index.
 */
async function createNextVersion(): Promise<URL> {
  const folder = scratchFolder('sql')
  await cp('apps/billing/sql', folder, { recursive: true })
  const version = Number(await readFile(join(folder, 'version.txt'), 'utf8'))
  await writeFile(join(folder, 'version.txt'), `${version + 1}\n`)
  await writeFile(
    join(folder, 'tables/9999-notes.sql'),
    `alter table reservations add column noted boolean;
     create table notes (reservation_id uuid primary key, noted_at timestamptz not null);`,
  )
  const settle = join(folder, 'functions/settle.sql')
  const [before, between, after, ...others] = (await readFile(settle, 'utf8')).split(
    /(?<=\n)(?=  with settled as)|(?<=set state = 'settled', closed_at = at)/,
  )
  if (between === undefined || after === undefined || others.length > 0)
    throw new Error('settle.sql has changed: adapt this test')
  await writeFile(
    settle,
    `${before}  insert into notes select ids[n], at from unnest(settling) as n;\n${between}, noted = true${after}`,
  )
  await appendFile(
    join(folder, 'indexes.sql'),
    'create index concurrently if not exists usage_by_worker on usage (settled_by);\n',
  )
  await appendFile(join(folder, 'roles.sql'), 'grant insert on notes to millrace_service;\n')
  return pathToFileURL(`${folder}/`)
}

async function countNoted(database: BillingDatabase): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::int from notes join reservations on id = reservation_id where noted',
  )
  return only(rows).count
}

/** Starts callers that make calls without a pause until `stop`, which returns the answers that they got. */
function startLoad(database: BillingDatabase, keyId: string) {
  const { money } = database
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
    const [cheap, dear, unused] = [reserveCall(keyId), reserveCall(keyId), reserveCall(keyId)]
    const holds = [
      ...(await timed(money.reserve([cheap, dear, unused]))),
      ...(await timed(money.resize([{ ...cheap, inputTokens: 90 }]))),
      ...(await timed(money.resize([{ ...dear, outputTokens: 60 }]))),
    ]
    const released = await timed(money.release([unused.reservationId]))
    const tokens = { promptTokens: 90, completionTokens: 10 }
    const [first] = await timed(money.settle([settlement(cheap.reservationId, tokens)]))
    const [second] = await timed(
      money.settle([settlement(dear.reservationId, { ...tokens, completionTokens: 500 })]),
    )
    const charged = [first?.chargedNano ?? -1n, second?.chargedNano ?? -1n] as const
    charges.set(cheap.reservationId, charged[0]).set(dear.reservationId, charged[1])
    writeOffs += 1
    await timed(setWatermark(database, 'chat', START_MS + cycles))
    await timed(money.expire(100))
    expect(holds.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'granted'))
    expect(released).toEqual([true])
    // The first charge is for 90 input and 10 output tokens. The second is the whole hold, because 500 output tokens
    // cost more.
    expect(charged).toEqual([280n, 800n])
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
    cycle,
    /** Resolves after this many further cycles of all callers together. Rejects at the first failure. */
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
