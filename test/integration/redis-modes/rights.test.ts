import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { deleteCountJob, takeCountJob } from '#libs/event-bus/token-counts.ts'
import { deleteVectors, readVectors, vectorsKey, writeVectors } from '#libs/event-bus/vectors.ts'
import { busRights, busRules, queueRights, queueRules } from '#libs/queue-redis/rights.ts'
import { connectRedis, openRedis } from '#libs/redis/connect-redis.ts'
import { findMissing, type Rights } from '#libs/redis/rights.ts'
import { APP_RULES, appUser } from '../../support/app-user.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'

const PASSWORD = 'of-the-apps'
const POLL = { interval: 20 }

let server: TestRedis
let owner: Redis
let place: { mode: 'single'; url: string }

beforeAll(async () => {
  server = await createRedis()
  owner = new Redis(server.url)
  const url = Object.assign(new URL(server.url), { username: 'millrace', password: PASSWORD }).href
  place = { mode: 'single', url }
})
afterAll(async () => {
  owner.disconnect()
  await server.stop()
})

const setUser = async (...rules: readonly string[]) => await owner.call('ACL', 'SETUSER', ...rules)

/** Connects as an app does, and notes what is logged. */
function connect(rights: Rights) {
  const lines: { msg: string; missing?: string[]; server?: string; redis?: string }[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const redis = connectRedis({ place, name: 'gateway-queue', patience: 'fail-fast', log, rights })
  onTestFinished(async () => (await redis).disconnect())
  return { redis, lines }
}

test('docs/operators.md has the rules of this user', () => {
  const rule = `ACL SETUSER millrace on >PASSWORD resetkeys resetchannels -@all ${APP_RULES.join(' ')}`
  expect(readFileSync('docs/operators.md', 'utf8')).toContain(rule)
})

test.each([
  ['queue', queueRights],
  ['bus', busRights],
])('the user of the documents has all rights on the %s', async (_, rights) => {
  await setUser(...appUser(PASSWORD))
  const { redis, lines } = connect(rights('worker'))
  expect(await (await redis).get('mr2:main:rights')).toBeNull()
  expect(lines).toEqual([])
})

// Rules without which the connection itself is refused, or that are for a Cluster.
const OTHERS = ['-@dangerous', '+@connection', '+cluster|slots', '+cluster|info']

test.each([
  ['~mr2:main:*', ['~mr2:main:{*}:[^s]*', '(~mr2:main:prefix-secret +get +setnx)']],
  ['+@read', ['+get', '+hmget', '+zrangebyscore', '+xrange']],
  ['+@write', ['+set', '+hset', '+xadd', '+xreadgroup', '+bzpopmin']],
  ['+@scripting', ['+eval', '+evalsha']],
  ['+@transaction', ['+multi']],
  ['+info', ['+info']],
  ['+time', ['+time']],
])('without %s an app waits and names what is missing, until it is given', async (rule, missing) => {
  await setUser(...appUser(PASSWORD, [rule]))
  const { redis, lines } = connect(queueRights('gateway'))
  await expect.poll(() => lines, POLL).not.toEqual([])
  expect(lines[0]).toMatchObject({
    msg: 'the Redis user lacks rights: give it those of docs/operators.md',
    redis: 'gateway-queue',
    server: `redis://${new URL(server.url).host}`,
  })
  expect(lines[0]?.missing).toEqual(expect.arrayContaining(missing))
  await setUser(...appUser(PASSWORD))
  expect(await (await redis).get('mr2:main:rights')).toBeNull()
})

test.each([
  ['&mr2:main:*', busRules('gateway').filter((rule) => /^\(?&/u.test(rule))],
  ['+@pubsub', [...busRules('gateway').filter((rule) => rule.startsWith('(&')), '+subscribe']],
])('without %s an app waits for the bus and names it', async (rule, missing) => {
  await setUser(...appUser(PASSWORD, [rule]))
  const { redis, lines } = connect(busRights('gateway'))
  await expect.poll(() => lines[0]?.missing?.toSorted(), POLL).toEqual(missing.toSorted())
  await setUser(...appUser(PASSWORD))
  expect(await (await redis).get('mr2:main:a')).toBeNull()
})

test.each(['subscribe', 'unsubscribe'])('the right to %s alone is waited for, too', async (command) => {
  await setUser(...appUser(PASSWORD), `-${command}`)
  const { redis, lines } = connect(busRights('gateway'))
  await expect.poll(() => lines[0]?.missing, POLL).toEqual([`+${command}`])
  await setUser(...appUser(PASSWORD))
  expect(await (await redis).get('mr2:main:a')).toBeNull()
  expect(lines.every(({ missing }) => missing !== undefined)).toBe(true)
})

test('every rule of the documents is one that the tests take away', () => {
  const taken = [
    '~mr2:main:*',
    '&mr2:main:*',
    '+@read',
    '+@write',
    '+@pubsub',
    '+@scripting',
    '+@transaction',
  ]
  expect([...taken, '+info', '+time', ...OTHERS].toSorted()).toEqual(APP_RULES.toSorted())
})

test('the question changes nothing, and its connection can be used', async () => {
  await setUser(...appUser(PASSWORD))
  const redis = await connect(queueRights('gateway')).redis
  if (!(redis instanceof Redis)) throw new Error('expected one server')
  expect(await findMissing(redis, queueRights('gateway'))).toEqual([])
  expect(await owner.keys('*rights*')).toEqual([])
  expect(await redis.set('mr2:main:a', 'b')).toBe('OK')
})

test('a right that is taken away later is named by the command that needed it, scripts included', async () => {
  await setUser(...appUser(PASSWORD))
  const lines: object[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const redis = openRedis({ place, name: 'worker-queue', patience: 'fail-fast', log })
  onTestFinished(() => redis.disconnect())
  await expect.poll(async () => await redis.ping().catch(String), POLL).toBe('PONG')
  await setUser('millrace', '-xadd')
  for (const _ of [1, 2]) {
    await expect(redis.xadd('mr2:main:a-stream', '*', 'a', 'b')).rejects.toThrow('NOPERM')
    const script = "return redis.call('XADD', KEYS[1], '*', 'a', 'secret-of-a-caller')"
    await expect(redis.eval(script, 1, 'mr2:main:a-stream')).rejects.toThrow('script')
  }
  expect(lines).toMatchObject([
    { redis: 'worker-queue', command: 'xadd', msg: 'the Redis user lacks a right' },
    { redis: 'worker-queue', command: 'eval', reply: expect.stringContaining('script') },
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
  await setUser('millrace', '+xadd')
  expect(await redis.xadd('mr2:main:a-stream', '*', 'a', 'b')).toEqual(expect.any(String))
})

test('a subscription whose channel is taken away comes back with the right to the channel', async () => {
  await setUser(...appUser(PASSWORD))
  const subscriber = await connectRedis({
    place,
    name: 'worker-bus-subscriber',
    patience: 'patient',
    log: pino({ level: 'silent' }),
  })
  onTestFinished(() => subscriber.disconnect())
  const heard: string[] = []
  subscriber.on('message', (_, text: string) => heard.push(text))
  await subscriber.subscribe('mr2:main:a', 'mr2:main:b')
  await subscriber.unsubscribe('mr2:main:b')
  const refused = new Promise<Error>((resolve) => subscriber.on('error', resolve))
  await setUser('millrace', 'resetchannels')
  expect((await refused).message).toContain('NOPERM')
  await setUser('millrace', '&mr2:main:*')
  await expect.poll(async () => await owner.publish('mr2:main:a', 'again'), POLL).toBe(1)
  await expect.poll(() => heard, POLL).toEqual(['again'])
  expect(await owner.publish('mr2:main:b', 'given up')).toBe(0)
})

const setRules = async (rules: readonly string[]) =>
  await setUser('millrace', 'reset', 'on', `>${PASSWORD}`, '-@all', ...rules)

/** These rules are for the connection itself, or for a Cluster. Without them the client could not ask. */
const UNCHECKED = new Set(['+@connection', '-@dangerous', '+info', '+cluster|slots', '+cluster|info'])
/** Categories of BullMQ's processes, whose commands are named one by one; the tests above take them away too. */
const CATEGORIES = new Set(['+@read', '+@write', '+@transaction'])
/** These rules take rights away. */
const NOT_GIVEN = new Set(['-scan', '-randomkey', '-@scripting'])

const MODELS = ['demo-chat', 'test/long']

const CHECKED = [
  ['gateway', 'queue', queueRules('gateway'), queueRights('gateway')],
  ['worker', 'queue', queueRules('worker', MODELS), queueRights('worker', MODELS)],
  ['scaler', 'queue', queueRules('scaler'), queueRights('scaler')],
  ['console', 'queue', queueRules('console'), queueRights('console')],
  ['gateway', 'bus', busRules('gateway'), busRights('gateway')],
  ['worker', 'bus', busRules('worker'), busRights('worker')],
  ['scaler', 'bus', busRules('scaler'), busRights('scaler')],
  ['console', 'bus', busRules('console'), busRights('console')],
] as const

test.each(CHECKED)(
  'the rules of a %s on the %s are enough, and each one is named while it is missing',
  async (...row) => {
    const [, , rules, rights] = row
    await setRules(rules)
    const redis = await connect(rights).redis
    if (!(redis instanceof Redis)) throw new Error('expected one server')
    expect(await findMissing(redis, rights)).toEqual([])
    for (const rule of rules.filter((rule) => !UNCHECKED.has(rule) && !NOT_GIVEN.has(rule))) {
      await setRules(rules.filter((other) => other !== rule))
      // The server closes the connections of a user that loses a channel.
      await expect.poll(async () => await redis.ping().catch(() => null), POLL).toBe('PONG')
      const missing = await findMissing(redis, rights)
      // The commands of a category are named one by one.
      const named = CATEGORIES.has(rule) && missing.length > 0 ? missing : [rule]
      expect([rule, missing]).toEqual([rule, named])
    }
  },
)

test('with their rules of the bus, workers and gateways pass on vectors and prompts to be counted', async () => {
  const open = async (process: 'gateway' | 'worker') => {
    await owner.call('ACL', 'SETUSER', process, 'on', `>${PASSWORD}`, '-@all', ...busRules(process))
    const url = Object.assign(new URL(server.url), { username: process, password: PASSWORD }).href
    const log = pino({ level: 'silent' })
    const redis = await connectRedis({
      place: { mode: 'single', url },
      name: process,
      patience: 'fail-fast',
      log,
    })
    onTestFinished(() => redis.disconnect())
    return redis
  }
  const [gateway, worker] = [await open('gateway'), await open('worker')]
  const key = vectorsKey({ gateway: 'a', stream: 1, epoch: 1, worker: 'b', first: 0 })
  await writeVectors(worker, key, [new Float32Array([1, 2])])
  expect(await readVectors(gateway, key, { count: 1, dimensions: 2 })).toEqual([new Float32Array([1, 2])])
  await deleteVectors(worker, key)

  const id = { gateway: 'a', id: 'b' }
  await deleteCountJob(gateway, id)
  expect(await takeCountJob(worker, id)).toBeNull()
  // The shape of a job does not matter here: only its key is written.
  expect(await gateway.set('mr2:main:count:{a}:b', 'x', 'PX', 1_000)).toBe('OK')
})

test('docs/operators.md has the rules of each process', () => {
  const rows = [
    ...(['gateway', 'worker', 'scaler', 'console', 'billing'] as const).map((process) => {
      return { process, server: 'queue', rules: queueRules(process, ['MODEL']) }
    }),
    ...(['gateway', 'worker', 'scaler', 'console', 'ctl'] as const).map((process) => {
      return { process, server: 'bus', rules: busRules(process) }
    }),
  ].map(
    ({ process, server, rules }) =>
      `| ${process} | ${server} | \`${rules.join(' ').replaceAll('|', String.raw`\|`)}\` |`,
  )
  const documents = readFileSync('docs/operators.md', 'utf8')
  expect(documents.split('\n').filter((line) => rows.includes(line))).toEqual(rows)
})
