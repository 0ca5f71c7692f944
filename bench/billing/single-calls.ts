import { randomUUIDv7 } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { connectionConfig } from '#apps/billing/database/open-pool.ts'
import { quantile } from '../harness/spread.ts'
import { HOLD_GRACE_MS, MODEL } from './open-bench-database.ts'

const WAYS = ['commit', 'reserve_one', 'reserve', 'settle_one', 'settle'] as const
/** A function; `commit`: one row into a table of its own, as the unit. */
export type Way = (typeof WAYS)[number]

/** Of one call in one round, in ms: median duration, and CPU time of the server's process for the connection. */
export type SingleCalls = Readonly<Record<Way, { readonly ms: number; readonly cpuMs: number }>>

const TOKENS = 100
/** Calls of one way before the next way has its turn. */
const BLOCK = 25

/**
 * Single calls, one after the other on one connection: the short functions beside the full ones, in turns of a few
 * calls, so that all ways meet the same noise. CPU time is the better measure on a machine with other work.
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
      const ids = Array.from({ length: BLOCK }, () => ({ short: randomUUIDv7(), full: randomUUIDv7() }))
      for (const way of WAYS) {
        const startedCpuMs = readCpuMs()
        const durations: number[] = []
        for (const { short, full } of ids) {
          const keyId = keyIds[Math.floor(Math.random() * keyIds.length)]
          const startedMs = performance.now()
          await call(client, way, { short, full, keyId })
          durations.push(performance.now() - startedMs)
        }
        // The first block plans and fills caches.
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
      reserve_one: of('reserve_one'),
      reserve: of('reserve'),
      settle_one: of('settle_one'),
      settle: of('settle'),
    }
  } finally {
    await client.end()
  }
}

async function call(
  client: Client,
  way: Way,
  { short, full, keyId }: { short: string; full: string; keyId: string | undefined },
): Promise<void> {
  const at = new Date().toISOString()
  const deadline = new Date(Date.now() + 600_000).toISOString()
  const grace = `${HOLD_GRACE_MS} milliseconds`
  const ask = async (text: string, values: unknown[]) => {
    const { rows } = await client.query<{ answer: string }>({ name: way, text, values })
    const answer = rows[0]?.answer
    if (answer !== 'granted' && answer !== 'charged') throw new Error(`${way} answered ${answer}`)
  }
  switch (way) {
    case 'commit':
      await client.query({ name: way, text: 'insert into one_row values (1)' })
      return
    case 'reserve_one':
      return await ask(`select status as answer from reserve_one(${places(8)})`, [
        short,
        keyId,
        MODEL,
        TOKENS,
        TOKENS,
        deadline,
        grace,
        at,
      ])
    case 'reserve':
      return await ask(`select status as answer from reserve(${places(8)})`, [
        [full],
        [keyId],
        [MODEL],
        [TOKENS],
        [TOKENS],
        [deadline],
        grace,
        at,
      ])
    case 'settle_one':
      return await ask(`select result as answer from settle_one(${places(8)})`, [
        short,
        1,
        'completed',
        TOKENS,
        0,
        TOKENS / 2,
        'bench',
        at,
      ])
    case 'settle':
      return await ask(`select result as answer from settle(${places(9)})`, [
        [full],
        [1],
        ['completed'],
        [TOKENS],
        [0],
        [TOKENS / 2],
        ['bench'],
        [null],
        at,
      ])
  }
}

const places = (count: number) => Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')

/** Returns a reader of the CPU time, in ms, of the server's process for this connection, on this machine. */
async function watchBackend(client: Client): Promise<() => number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const file = `/proc/${rows[0]?.pid}/schedstat`
  return () => Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6
}
