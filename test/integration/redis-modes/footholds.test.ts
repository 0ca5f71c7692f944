import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { busRules, queueRules } from '#libs/queue-redis/rights.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'

// What a stolen login can and cannot do. Each row is one attempt with exactly the rights of docs/operators.md; SECURITY.md
// has the same in words. The worker serves the model `own`.

const PASSWORD = 'of-the-apps'
const USERS = {
  'worker queue': queueRules('worker', ['own', 'own/two']),
  'worker bus': busRules('worker'),
  'gateway queue': queueRules('gateway'),
  'gateway bus': busRules('gateway'),
  'scaler queue': queueRules('scaler'),
  'scaler bus': busRules('scaler'),
  'console queue': queueRules('console'),
  'console bus': busRules('console'),
  'billing queue': queueRules('billing'),
  'ctl bus': busRules('ctl'),
}
type User = keyof typeof USERS

/** Replaces `…` by the beginning of all names. */
const REFUSED: Readonly<Record<User, readonly string[]>> = {
  'worker queue': [
    // Prompts and records of other models, and the names by which to find them.
    'GET …{other}:j:1',
    'GET …{other}:p:1',
    'HGETALL …{other}:g:1',
    'HSET …{other}:g:1 settled fault',
    'DEL …{other}:j:1',
    'ZADD …{other}:waiting:chat 1 a',
    'HSET …{other}:generations:meta paused 1',
    'COPY …{own}:j:1 …{other}:j:1',
    'SCAN 0',
    'KEYS *',
    'RANDOMKEY',
    'EVAL SCRIPT:GET 0 …{other}:j:1',
    'EVAL SCRIPT:SCAN 0 0',
    // The settlements of every model, its own too: to settle, to delete, to read receipts, to make others forget.
    'XADD …{other}:settlements * id 1 outcome fault',
    'XADD …{own}:settlements * id 1 outcome fault',
    'XADD …{own}:settlements MAXLEN 0 * id 1',
    'XADD …{own/two}:settlements * id 1 outcome fault',
    'XRANGE …{own}:settlements - +',
    'XTRIM …{own}:settlements MAXLEN 0',
    'XDEL …{own}:settlements 1-1',
    'DEL …{own}:settlements',
    'SET …{own}:settlements:mark x',
    'HSET …{own}:settlements:state incarnation x',
    'EVAL SCRIPT:DEL 0 …{own}:settlements',
    // Accounts of all gateways, the life of gateways, the secret of caches, the scaler's lock, billing's claim.
    'ZADD …killers 1 account',
    'ZRANGE …killers 0 -1',
    'DEL …killers',
    'DEL …live:gateway:g1',
    'SET …live:gateway:g1 1',
    'SET …prefix-secret known',
    'DEL …prefix-secret',
    'SET …{scaler:main}:leader x',
    'HSET …{scaler:main}:snapshot text x',
    'SET …{billing:}database x',
    'DEL …{billing:}queue',
    // Another cell, and the server.
    'GET mr2:north:{own}:j:1',
    'FLUSHALL',
    'CONFIG GET *',
    'CLIENT KILL TYPE normal',
    'CLIENT LIST',
    'MONITOR',
    'SCRIPT FLUSH',
    'FUNCTION FLUSH',
    'ACL SETUSER worker nopass',
    'SHUTDOWN',
    'SUBSCRIBE …gateway:g1',
  ],
  'worker bus': [
    'SUBSCRIBE …gateway:g1',
    'SUBSCRIBE …counts:g1',
    'SUBSCRIBE …model-states',
    'PSUBSCRIBE *',
    'PSUBSCRIBE …worker:*',
    'PUBLISH …worker:w2 {"type":"stop"}',
    'PUBLISH …scaler-orders:w2 {"type":"cordon"}',
    'PUBLISH …operator-orders:w2 {"type":"drain"}',
    'PUBLISH …heartbeats:gateways {}',
    'PUBLISH …model-states {}',
    'PUBLISH …demand {}',
    'PUBLISH …observe {}',
    'PUBLISH …scaler:main {}',
    'GET …vectors:{g1}:1:1:w2:0',
    'GETDEL …vectors:{g1}:1:1:w2:0',
    'GET …count:{g1}:1',
    'SET …count:{g1}:1 x',
    'DEL …count:{g1}:1',
    'KEYS *',
    'SCAN 0',
    'PUBSUB CHANNELS',
    'FLUSHALL',
  ],
  'gateway queue': [
    'XRANGE …{own}:settlements - +',
    'XTRIM …{own}:settlements MAXLEN 0',
    'XDEL …{own}:settlements 1-1',
    'DEL …{own}:settlements',
    'SET …{own}:settlements:mark x',
    'DEL …{own}:settlements:state',
    'DEL …live:worker:w1',
    'SET …prefix-secret known',
    'SET …{billing:}database x',
    'SCAN 0',
    'KEYS *',
    'FLUSHALL',
  ],
  'gateway bus': [
    'PUBLISH …gateway:g2 [1]',
    'PUBLISH …counts:g2 {}',
    'PUBLISH …scaler-orders:w1 {"type":"cordon"}',
    'PUBLISH …operator-orders:w1 {"type":"drain"}',
    'PUBLISH …model-states {}',
    'PUBLISH …heartbeats:workers {}',
    'SUBSCRIBE …worker:w1',
    'PSUBSCRIBE …gateway:*',
    'DEL …vectors:{g1}:1:1:w2:0',
    'GET …count:{g1}:1',
  ],
  'scaler queue': [
    'GET …{own}:j:1',
    'HGET …{own}:g:1 epoch',
    'DEL …{own}:j:1',
    'DEL …{own}:waiting-expiry',
    'ZCOUNT …{own}:waiting-sums 0 1',
    'EVAL SCRIPT:DEL 1 …{own}:waiting-expiry',
    'EVAL SCRIPT:GET 0 …{own}:j:1',
    'XADD …{own}:settlements * id 1',
    'GET …prefix-secret',
    'DEL …killers',
    'DEL …live:gateway:g1',
    'SET …{billing:}database x',
    'SCAN 0',
  ],
  'scaler bus': [
    'SUBSCRIBE …gateway:g1',
    'SUBSCRIBE …worker:w1',
    'SUBSCRIBE …reports',
    'PUBLISH …gateway:g1 [1]',
    'PUBLISH …worker:w1 {"type":"stop"}',
    'PUBLISH …operator-orders:w1 {"type":"drain"}',
    'PUBLISH …heartbeats:workers {}',
    'GET …vectors:{g1}:1:1:w2:0',
    'SET …vectors:{g1}:1:1:w2:0 x',
  ],
  'console queue': [
    'GET …{own}:j:1',
    'XRANGE …{own}:settlements - +',
    'ZCARD …{own}:waiting:chat',
    'SET …x 1',
    'EVAL SCRIPT:GET 0 …{own}:j:1',
    'SCAN 0',
  ],
  'console bus': [
    'SUBSCRIBE …gateway:g1',
    'SUBSCRIBE …heartbeats:gateways',
    'PUBLISH …worker:w1 {"type":"stop"}',
    'PUBLISH …scaler-orders:w1 {"type":"cordon"}',
    'PUBLISH …operator-orders:w1 {"type":"drain"}',
    'PUBLISH …reports {}',
    'GET …count:{g1}:1',
  ],
  'billing queue': [
    'GET …{own}:j:1',
    'HSET …{own}:g:1 settled fault',
    'DEL …live:gateway:g1',
    'GET …prefix-secret',
    'SET …{scaler:main}:leader x',
    'ZADD …killers 1 account',
    'SUBSCRIBE …gateway:g1',
  ],
  'ctl bus': [
    'SUBSCRIBE …gateway:g1',
    'PUBLISH …worker:w1 {"type":"stop"}',
    'PUBLISH …scaler-orders:w1 {"type":"cordon"}',
    'GET …vectors:{g1}:1:1:w2:0',
  ],
}

/** What a stolen login can do, because its process must be able to. */
const ALLOWED: Readonly<Record<User, readonly string[]>> = {
  'worker queue': [
    'GET …{own}:j:1',
    'GET …{own/two}:p:1',
    'HSET …{own}:g:1 settled fault',
    'RPUSH …{own}:orphans id=1',
    'HSET …{own}:seats a b',
    'ZADD …{own}:seat-ages 1 a',
    'PTTL …live:gateway:g1',
    'DEL …live:worker:w2',
    'GET …{scaler:main}:leader',
    'GET …prefix-secret',
    'SETNX …prefix-secret a',
  ],
  'worker bus': [
    'SUBSCRIBE …worker:w2',
    'PUBLISH …gateway:g1 [1]',
    'PUBLISH …heartbeats:workers {}',
    'GETDEL …count:{g1}:1',
    'SET …vectors:{g1}:1:1:w2:0 x',
  ],
  'gateway queue': ['GET …{own}:j:1', 'XADD …{own}:settlements * id 1', 'ZADD …killers 1 account'],
  'gateway bus': ['SUBSCRIBE …gateway:g2', 'PUBLISH …worker:w1 {"type":"stop"}', 'SET …count:{g1}:1 x'],
  'scaler queue': ['SET …{scaler:main}:leader x', 'ZCOUNT …{own}:waiting-expiry 0 1'],
  'scaler bus': [
    'PUBLISH …scaler-orders:w1 {"type":"cordon"}',
    'PUBLISH …model-states {}',
    'SUBSCRIBE …demand',
  ],
  'console queue': ['ZCARD …{own}:waiting-expiry'],
  'console bus': ['SUBSCRIBE …reports', 'PUBLISH …observe {}'],
  'billing queue': ['XADD …{own}:settlements * id 1', 'EXISTS …live:gateway:g1', 'LPOP …{own}:orphans'],
  'ctl bus': ['PUBLISH …operator-orders:w1 {"type":"drain"}', 'SUBSCRIBE …heartbeats:workers'],
}

let server: TestRedis
let owner: Redis

beforeAll(async () => {
  server = await createRedis()
  owner = new Redis(server.url)
  for (const [user, rules] of Object.entries(USERS)) {
    await owner.call('ACL', 'SETUSER', user.replace(' ', '-'), 'on', `>${PASSWORD}`, '-@all', ...rules)
  }
})
afterAll(async () => {
  owner.disconnect()
  await server.stop()
})

const rows = (table: Readonly<Record<User, readonly string[]>>) =>
  Object.entries(table).map(([user, attempts]) => ({ user, attempts }))

test.each(rows(REFUSED))('the login of $user is refused what is not its own', async ({ user, attempts }) => {
  await owner.flushall()
  await owner.mset('mr2:main:{other}:j:1', 'my secret is 4711', 'mr2:main:live:gateway:g1', '1')
  expect(attempts.length).toBeGreaterThan(3)
  for (const attempt of attempts)
    expect([attempt, await outcomeOf(user, attempt)]).toEqual([attempt, 'refused'])
  expect(await owner.keys('*')).toHaveLength(2)
})

test.each(rows(ALLOWED))('the login of $user can do this much', async ({ user, attempts }) => {
  await owner.flushall()
  for (const attempt of attempts) expect([attempt, await outcomeOf(user, attempt)]).toEqual([attempt, 'done'])
})

const SCRIPTS: Readonly<Record<string, string>> = {
  'SCRIPT:GET': "return redis.call('GET', ARGV[1])",
  'SCRIPT:SCAN': "return redis.call('SCAN', ARGV[1])",
  'SCRIPT:DEL': "return redis.call('DEL', ARGV[1] or KEYS[1])",
}

async function outcomeOf(user: string, attempt: string): Promise<string> {
  const url = Object.assign(new URL(server.url), {
    username: user.replace(' ', '-'),
    password: PASSWORD,
  }).href
  const redis = new Redis(url, { retryStrategy: null, lazyConnect: true, enableReadyCheck: false })
  redis.on('error', () => undefined)
  onTestFinished(() => redis.disconnect())
  await redis.connect()
  const [command = '', ...args] = attempt.replaceAll('…', 'mr2:main:').split(' ')
  const words = args.map((word) => SCRIPTS[word] ?? word)
  try {
    if (command === 'SUBSCRIBE') await redis.subscribe(...words)
    else if (command === 'PSUBSCRIBE') await redis.psubscribe(...words)
    else await redis.call(command, words)
    return 'done'
  } catch (error) {
    const message = String(error)
    return /NOPERM|ACL failure|can't (run|access)/u.test(message) ? 'refused' : message
  } finally {
    redis.disconnect()
  }
}
