import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { claimCell, type CellPlaces } from '#apps/billing/settlements/claim-cell.ts'
import { joinCell } from '#libs/config/cell.ts'
import { keyPrefix, queueIdKey } from '#libs/queue-redis/keys.ts'
import { createRedis, type TestRedis } from '../../../support/redis.ts'
import { openBillingDatabase, type BillingDatabase } from '../support/billing-database.ts'

const POLL = { interval: 20 }

let servers: TestRedis[]
let queues: [Redis, Redis]
let databases: [BillingDatabase, BillingDatabase]

beforeAll(async () => {
  servers = [await createRedis(), await createRedis()]
  queues = [new Redis(servers[0]?.url ?? ''), new Redis(servers[1]?.url ?? '')]
})
beforeEach(async () => {
  databases = [await openBillingDatabase(), await openBillingDatabase()]
  await Promise.all(queues.map((queue) => queue.flushall()))
})
afterEach(async () => {
  await Promise.all(databases.map((database) => database.close()))
})
afterAll(async () => {
  for (const queue of queues) queue.disconnect()
  await Promise.all(servers.map((server) => server.stop()))
})

/** One replica of billing. */
function startClaim(queue: 0 | 1, database: 0 | 1, given: { everyMs?: number; lastingMs?: number } = {}) {
  const places: CellPlaces = { cell: 'main', queue: `queue-${queue}`, database: `database-${database}` }
  const lines: string[] = []
  const lost: string[] = []
  const waits: string[] = []
  const claim = claimCell({
    redis: queues[queue],
    pool: databases[database].servicePool,
    places,
    onLost: (reason) => lost.push(reason),
    log: pino({ level: 'error' }, { write: (line: string) => lines.push(JSON.parse(line).msg) }),
    limits: { everyMs: 20, lastingMs: 400, ...given },
  })
  onTestFinished(claim.stop)
  const first = claim.first((reason) => waits.push(reason))
  return { ...claim, first, waits, lines, lost }
}

test('replicas of one cell hold it together, and go on when the queue loses its data', async () => {
  const replicas = [startClaim(0, 0), startClaim(0, 0)]
  expect(await Promise.all(replicas.map(({ first }) => first))).toEqual([true, true])
  const id = await queues[0].get(queueIdKey())
  await queues[0].flushall()
  await expect.poll(async () => await queues[0].get(queueIdKey()), POLL).toBe(id)
  // The renewals write both keys again.
  await queues[0].flushall()
  await expect.poll(async () => await queues[0].dbsize(), POLL).toBe(2)
  expect(replicas.flatMap(({ lost, lines }) => [...lost, ...lines])).toEqual([])
})

/** The queue and the database that the second cell has. Each cell has one of two. */
type Meeting = { what: string; other: { queue: 0 | 1; database: 0 | 1 }; reason: string }

test.each<Meeting>([
  {
    what: 'two databases on one queue',
    other: { queue: 0, database: 1 },
    reason: 'the queue Redis queue-0 serves the database database-0 in the cell main, and not database-1',
  },
  {
    what: 'two queues on one database',
    other: { queue: 1, database: 0 },
    reason: 'the database database-0 serves the queue Redis queue-0, and not queue-1',
  },
])('$what are refused by name, until one of them is gone', async ({ other, reason }) => {
  const one = startClaim(0, 0)
  expect(await one.first).toBe(true)
  const second = startClaim(other.queue, other.database)
  await expect.poll(() => second.waits, POLL).toContain(reason)
  expect(second.lines[0]).toBe(`${reason}: two cells share it; give each its own, or names by CELL`)
  one.stop()
  expect(await second.first).toBe(true)
  await second.held
  expect(second.lost).toEqual([])
})

test('cells with different names share a queue Redis', async () => {
  onTestFinished(() => joinCell())
  const one = startClaim(0, 0)
  joinCell('north')
  expect(keyPrefix()).toBe('mr2:north:')
  const other = startClaim(0, 1)
  expect(await Promise.all([one.first, other.first])).toEqual([true, true])
  expect((await queues[0].keys('*')).map((key) => key.split(':')[1] ?? '').toSorted()).toEqual([
    'main',
    'main',
    'north',
    'north',
  ])
})

test('a replica that could not renew its claim for long learns that another cell has it', async () => {
  const one = startClaim(0, 0, { everyMs: 1_000, lastingMs: 50 })
  expect(await one.first).toBe(true)
  const second = startClaim(0, 1, { lastingMs: 60_000 })
  expect(await second.first).toBe(true)
  await expect
    .poll(() => one.lost, POLL)
    .toEqual(['the queue Redis queue-0 serves the database database-1 in the cell main, and not database-0'])
})

test('a server that does not answer yet leaves the claim unknown, and it is held once the server does', async () => {
  const away = new Redis(servers[0]?.url ?? '', { lazyConnect: true, enableOfflineQueue: false })
  away.on('error', () => {})
  onTestFinished(() => away.disconnect())
  const claim = claimCell({
    redis: away,
    pool: databases[0].servicePool,
    places: { cell: 'main', queue: 'queue', database: 'database' },
    onLost: (reason) => expect.unreachable(reason),
    log: pino({ level: 'silent' }),
    limits: { everyMs: 20, lastingMs: 400 },
  })
  onTestFinished(claim.stop)
  expect(await claim.first(() => expect.unreachable())).toBe(false)
  await claim.held
})
