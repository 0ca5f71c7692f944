import { Redis } from 'ioredis'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createDatabase, createPostgres } from '#test/support/postgres.ts'
import { createRedis, sharedRedis } from '#test/support/redis.ts'

test('the shared Redis never evicts and keeps an append-only file', async () => {
  const redis = new Redis(sharedRedis())
  onTestFinished(() => redis.disconnect())
  expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
  expect(await redis.config('GET', 'appendonly')).toEqual(['appendonly', 'yes'])
})

test('a Redis of its own comes back after kill -9 with what was written, at the same URL', async () => {
  const server = await createRedis()
  onTestFinished(() => server.stop())
  const before = new Redis(server.url)
  before.on('error', () => {})
  await before.set('kept', 'yes')
  // Redis writes the append-only file to the kernel before it answers, so only a power failure could lose the write.
  before.disconnect()
  const pid = server.pid()
  await server.kill()
  await server.start()
  expect(server.pid()).not.toBe(pid)
  const after = new Redis(server.url)
  onTestFinished(() => after.disconnect())
  expect(await after.get('kept')).toBe('yes')
})

test('databases are separate, empty and gone after drop, even with a session still open', async () => {
  const [one, two] = await Promise.all([createDatabase(), createDatabase()])
  onTestFinished(() => two.drop())
  const first = await connect(one.url)
  await first.query('create table only_here (x int)')
  const second = await connect(two.url)
  const tables = await second.query("select 1 from information_schema.tables where table_schema = 'public'")
  expect(tables.rowCount).toBe(0)
  await second.end()
  await one.drop()
  await expect(connect(one.url)).rejects.toThrow('does not exist')
})

test('a PostgreSQL of its own comes back after kill -9 with what was committed', async () => {
  const server = await createPostgres()
  onTestFinished(() => server.stop())
  const before = await connect(server.url('postgres'))
  await before.query('create table kept as select 1 as x')
  await server.kill()
  await server.start()
  const after = await connect(server.url('postgres'))
  expect((await after.query('select x from kept')).rows).toEqual([{ x: 1 }])
  await after.end()
})

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  // In these tests, servers end while sessions are open.
  client.on('error', () => {})
  await client.connect()
  return client
}
