import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { freePort } from '../../test/support/free-port.ts'
import { createPostgres } from '../../test/support/postgres.ts'
import { startApp } from '../../test/support/processes.ts'
import { createRedis } from '../../test/support/redis.ts'
import { scratchFolder } from '../../test/support/run-folder.ts'
import { until } from '../../test/support/until.ts'
import { readFamilyCpuUs, readThreadsCpuUs } from '../harness/process-cpu.ts'

const SIZES = [10, 100, 1_000]
const PINGS = 10_000
/**
 * The pause after the watermarks of all models have appeared. In this pause the processes finish the work that they do
 * only once after their start.
 */
const SETTLE_MS = 5_000
/** Longer than the longest interval between two checks of an idle model. */
const WATCHED_MS = 30_000
const WATERMARKS_LIMIT_MS = 120_000

/**
 * Prints the cost of a cell of 10, 100 and 1,000 models while no model has a request. These are the figures, each per
 * second:
 * - the CPU time of billing, of a gateway, of Redis and of PostgreSQL
 * - the number of Redis commands
 * - the bytes of write-ahead log
 *
 * Call `setup` of test/support first.
 */
export async function benchModels(print: (line: string) => void): Promise<void> {
  print(`idle models, each second over ${WATCHED_MS / 1_000} s; a PING is the unit of Redis' CPU`)
  for (const size of SIZES) print(`  ${String(size).padStart(5)} models: ${await watchIdle(size)}`)
}

async function watchIdle(size: number): Promise<string> {
  await using opened = new AsyncDisposableStack()
  const postgres = opened.adopt(await createPostgres({ autovacuum: 'off' }), (it) => it.stop())
  const server = opened.adopt(await createRedis(), (it) => it.stop())
  const redis = opened.adopt(new Redis(server.url), (it) => it.disconnect())
  const pool = opened.adopt(new Pool({ connectionString: postgres.url('postgres'), max: 1 }), (it) =>
    it.end(),
  )
  const urls = { QUEUE_REDIS_URL: server.url, BUS_REDIS_URL: server.url, LOG_LEVEL: 'warn' }
  const address = `127.0.0.1:${await freePort()}`
  const billing = await startApp('billing', {
    ...urls,
    DATABASE_URL: postgres.url('postgres'),
    GRPC_LISTEN: address,
    ADMIN_PORT: String(await freePort()),
    ADMIN_TOKEN: 'bench-admin-token-0123456789',
    RECEIPT_SECRETS: 'a-receipt-secret-of-the-bench-alone',
    CATALOG_FILE: writeCatalog(size),
  })
  opened.defer(() => billing.stop())
  const gateway = await startApp('gateway', {
    ...urls,
    PORT: String(await freePort()),
    BILLING_ADDRESS: address,
  })
  opened.defer(() => gateway.stop())
  await until(
    async () => (await read(pool, 'select count(*) from settlement_watermarks')) === size,
    WATERMARKS_LIMIT_MS,
  )
  await sleep(SETTLE_MS)

  const before = await readCosts()
  await sleep(WATCHED_MS)
  const after = await readCosts()
  const perS = (name: keyof typeof before) => (after[name] - before[name]) / (WATCHED_MS / 1_000)
  const pingUs = await measurePing()
  return [
    ...(['billing', 'gateway', 'postgres'] as const).map(
      (name) => `${name} ${(perS(name) / 1_000).toFixed(1)} ms CPU`,
    ),
    `Redis ${(perS('redis') / 1_000).toFixed(1)} ms = ${(perS('redis') / pingUs).toFixed(0)} PINGs in ${perS('commands').toFixed(0)} commands`,
    `${perS('walBytes').toFixed(0)} B of write-ahead log`,
  ].join(', ')

  async function readCosts() {
    const stats = await redis.info('stats')
    return {
      billing: readThreadsCpuUs(billing.pid),
      gateway: readThreadsCpuUs(gateway.pid),
      redis: readThreadsCpuUs(server.pid()),
      postgres: readFamilyCpuUs(postgres.pid()),
      commands: Number(/total_commands_processed:(\d+)/u.exec(stats)?.[1]),
      walBytes: await read(pool, "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
    }
  }

  async function measurePing(): Promise<number> {
    const beforeUs = readThreadsCpuUs(server.pid())
    for (let ping = 0; ping < PINGS; ping += 1) await redis.ping()
    return (readThreadsCpuUs(server.pid()) - beforeUs) / PINGS
  }
}

/** Writes a catalog that has the demo catalog's chat model under `size` names. */
function writeCatalog(size: number): string {
  const { models, ...catalog }: { models: readonly object[] } = JSON.parse(
    readFileSync('deploy/catalog.demo.json', 'utf8'),
  )
  const [model] = models
  const path = `${scratchFolder('catalog')}/catalog.json`
  const named = Array.from({ length: size }, (_, index) => ({ ...model, id: `idle-${index}` }))
  writeFileSync(path, JSON.stringify({ ...catalog, models: named }))
  return path
}

async function read(pool: Pool, question: string): Promise<number> {
  const { rows } = await pool.query<Record<string, string>>(question)
  return Number(Object.values(rows[0] ?? {})[0])
}
