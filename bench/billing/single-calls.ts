import { randomUUIDv7 } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { connectionConfig } from '#apps/billing/database/open-pool.ts'
import { quantile } from '../harness/spread.ts'
import { HOLD_GRACE_MS, MODEL } from './open-bench-database.ts'

const WAYS = ['commit', 'reserve', 'reserve_32', 'settle', 'settle_32'] as const
/**
 * The names of the measured calls. `commit` inserts one row into a separate table, for comparison. Each of the other
 * calls passes reservations or settlements to an SQL function of billing. A call whose name ends in `_32` passes 32
 * reservations or settlements, each of a different account. Any other call passes one.
 */
export type Way = (typeof WAYS)[number]

/**
 * The cost of one call in one round, in ms: the median duration, and the CPU time of the server process that serves the
 * connection.
 */
export type SingleCalls = Readonly<Record<Way, { readonly ms: number; readonly cpuMs: number }>>

const TOKENS = 100
const BATCH = 32
/** The number of calls of one way before the next way has its turn. */
const BLOCK = 25

/**
 * Measures single calls, one after another on one connection, in turns of a few calls each, so that all of them meet the
 * same noise. CPU time is the better measure on a machine with other work.
 */
export async function measureSingleCalls(
  url: string,
  keyIds: readonly string[],
  blocks: number,
): Promise<SingleCalls> {
  const client = new Client(connectionConfig(url))
  await client.connect()
  try {
    await client.query('create table if not exists one_row (place integer)')
    const readCpuMs = await watchBackend(client)
    const taken = new Map<Way, { ms: number[]; cpuMs: number }>(
      WAYS.map((way) => [way, { ms: [], cpuMs: 0 }]),
    )
    for (let block = -1; block < blocks; block += 1) {
      const ids = Array.from({ length: BLOCK }, () => ({
        one: [randomUUIDv7()],
        batch: Array.from({ length: BATCH }, () => randomUUIDv7()),
      }))
      for (const way of WAYS) {
        const startedCpuMs = readCpuMs()
        const durations: number[] = []
        for (const entries of ids) {
          const place = Math.floor(Math.random() * (keyIds.length - BATCH))
          const startedMs = performance.now()
          await call(client, way, { ...entries, keyIds: keyIds.slice(place, place + BATCH) })
          durations.push(performance.now() - startedMs)
        }
        // The first block only plans the statements and fills caches.
        const sum = taken.get(way)
        if (block < 0 || sum === undefined) continue
        sum.ms.push(...durations)
        sum.cpuMs += (readCpuMs() - startedCpuMs) / (BLOCK * blocks)
      }
    }
    const of = (way: Way) => {
      const { ms, cpuMs } = taken.get(way) ?? { ms: [], cpuMs: NaN }
      return {
        ms: quantile(
          ms.toSorted((a, b) => a - b),
          0.5,
        ),
        cpuMs,
      }
    }
    return {
      commit: of('commit'),
      reserve: of('reserve'),
      reserve_32: of('reserve_32'),
      settle: of('settle'),
      settle_32: of('settle_32'),
    }
  } finally {
    await client.end()
  }
}

type Entries = {
  readonly one: readonly string[]
  readonly batch: readonly string[]
  readonly keyIds: readonly string[]
}

async function call(client: Client, way: Way, { one, batch, keyIds }: Entries): Promise<void> {
  switch (way) {
    case 'commit':
      await client.query({ name: way, text: 'insert into one_row values (1)' })
      return
    case 'reserve':
      return await reserve(client, one, keyIds)
    case 'reserve_32':
      return await reserve(client, batch, keyIds)
    case 'settle':
      return await settle(client, one)
    case 'settle_32':
      return await settle(client, batch)
  }
}

async function reserve(client: Client, ids: readonly string[], keyIds: readonly string[]): Promise<void> {
  const [deadline, ...rest] = times()
  const values = [MODEL, TOKENS, TOKENS, deadline].map((value) => ids.map(() => value))
  const text = `select status as answer from reserve(${places(8)})`
  await ask(client, text, [ids, keyIds.slice(0, ids.length), ...values, ...rest])
}

async function settle(client: Client, ids: readonly string[]): Promise<void> {
  const text = `select result as answer from settle(${places(8)})`
  await ask(client, text, [ids, ...toEnds(ids), new Date().toISOString()])
}

const toEnds = (ids: readonly string[]) =>
  [1, 'completed', TOKENS, 0, TOKENS / 2, 'bench'].map((value) => ids.map(() => value))

/** Returns deadline, grace and the present time. */
function times(): string[] {
  const nowMs = Date.now()
  return [
    new Date(nowMs + 600_000).toISOString(),
    `${HOLD_GRACE_MS} milliseconds`,
    new Date(nowMs).toISOString(),
  ]
}

/** Throws unless every entry is granted or charged. */
async function ask(client: Client, text: string, values: unknown[]): Promise<void> {
  const { rows } = await client.query<{ answer: string }>({ name: text.slice(0, 60), text, values })
  for (const { answer } of rows) {
    if (answer !== 'granted' && answer !== 'charged') throw new Error(`${text} answered ${answer}`)
  }
}

const places = (count: number) => Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')

/**
 * Returns a function that reads the CPU time, in ms, of the server process that serves this connection. The process
 * runs on this machine.
 */
async function watchBackend(client: Client): Promise<() => number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const file = `/proc/${rows[0]?.pid}/schedstat`
  return () => Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6
}
