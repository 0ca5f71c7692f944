import type { Rights } from '#libs/redis/rights.ts'
import { keyPrefix } from './keys.ts'

// This file has the rights of each process on the queue Redis and on a bus server, in two forms. `QUEUE_RULES` and
// `BUS_RULES` are access rules, which docs/operators.md repeats. `queueRights` and `busRights` are sample commands; a
// process checks at its start that it may send them.

/** The processes that use Redis. */
export type RedisProcess = 'gateway' | 'worker' | 'scaler' | 'console' | 'billing'

/** The rules that every connection needs. ioredis reads INFO when it connects, and CLUSTER in a Cluster. */
const CONNECTION = ['+@connection', '-@dangerous', '+info', '+cluster|slots', '+cluster|info']
/** The rules for the check of the rights. */
const CHECK = ['+multi', '+discard']
/** BullMQ's scripts use many commands, and may use others in its next release. */
const WITH_BULLMQ = [
  '~mr2:main:*',
  '+@read',
  '+@write',
  '+@scripting',
  '+@transaction',
  '+time',
  ...CONNECTION,
]

const SUBSCRIBER = ['+publish', '+subscribe', '+unsubscribe', ...CHECK, ...CONNECTION]

/** The access rules of each process on the queue Redis, for the cell `main`. */
export const QUEUE_RULES: Readonly<Record<RedisProcess, readonly string[]>> = {
  gateway: WITH_BULLMQ,
  worker: WITH_BULLMQ,
  scaler: toRules(
    '~mr2:main:* +eval +evalsha +get +set +del +hset +hmget +pexpire +zcount +zrangebyscore +time',
    CHECK,
    CONNECTION,
  ),
  console: toRules('%R~mr2:main:* +zcard +xinfo|stream', CHECK, CONNECTION),
  billing: toRules(
    '~mr2:main:* +eval +xreadgroup +xautoclaim +xack +xgroup|create +xgroup|delconsumer +xgroup|setid',
    '+xinfo|stream +xinfo|groups +xinfo|consumers +xlen +xpending +xrange +xadd +xtrim +get +set +exists +del +hget +hmget +hset +hincrby +time',
    CONNECTION,
  ),
}

/** The access rules of each process on each bus server, for the cell `main`. Billing does not use the bus. */
export const BUS_RULES: Readonly<Record<Exclude<RedisProcess, 'billing'>, readonly string[]>> = {
  gateway: toRules('~mr2:main:* &mr2:main:* +get +set +del', SUBSCRIBER),
  worker: toRules('~mr2:main:* &mr2:main:* +set +getdel +del', SUBSCRIBER),
  scaler: toRules('&mr2:main:*', SUBSCRIBER),
  console: toRules(
    '&mr2:main:observe &mr2:main:reports &mr2:main:capacity &mr2:main:demand &mr2:main:model-states',
    SUBSCRIBER,
  ),
}

function toRules(...rules: readonly (string | readonly string[])[]): string[] {
  return rules.flatMap((some) => (typeof some === 'string' ? some.split(' ') : some))
}

/** Returns the rights that a process needs on the queue Redis. Billing does not check its rights. */
export function queueRights(process: Exclude<RedisProcess, 'billing'>): Rights {
  const prefix = keyPrefix()
  const key = `${prefix}rights`
  const commands = { gateway: withBullmq, worker: withBullmq, scaler: ofScaler, console: ofConsole }
  return { prefix, keyRule: process === 'console' ? '%R~' : '~', commands: commands[process](key) }
}

type Commands = Rights['commands']

/** The samples cover the commands that a gateway or a worker sends and those inside scripts, BullMQ's included. */
const withBullmq = (key: string): Commands => [
  ['GET', key],
  ['HMGET', key, 'a'],
  ['ZRANGEBYSCORE', key, '0', '1'],
  ['SMEMBERS', key],
  ['LRANGE', key, '0', '1'],
  ['XRANGE', key, '-', '+'],
  ['XINFO', 'STREAM', key],
  ['TYPE', key],
  ['PTTL', key],
  ['SET', key, 'a'],
  ['DEL', key],
  ['HSET', key, 'a', 'b'],
  ['ZADD', key, '1', 'a'],
  ['SADD', key, 'a'],
  ['LPUSH', key, 'a'],
  ['XADD', key, '*', 'a', 'b'],
  ['XREADGROUP', 'GROUP', 'a', 'b', 'STREAMS', key, '>'],
  ['XGROUP', 'CREATE', key, 'a', '0'],
  ['PEXPIRE', key, '1'],
  ['BZPOPMIN', key, '1'],
  ...scriptsOf(key),
]

const ofScaler = (key: string): Commands => [
  ['GET', key],
  ['SET', key, 'a'],
  ['DEL', key],
  ['HSET', key, 'a', 'b'],
  ['HMGET', key, 'a'],
  ['PEXPIRE', key, '1'],
  ['ZCOUNT', key, '0', '1'],
  ['ZRANGEBYSCORE', key, '0', '1'],
  ...scriptsOf(key),
]

const ofConsole = (key: string): Commands => [
  ['ZCARD', key],
  ['XINFO', 'STREAM', key],
  ['INFO', 'memory'],
]

function scriptsOf(key: string): Commands {
  return [
    ['EVAL', 'return 1', '1', key],
    ['EVALSHA', '0'.repeat(40), '1', key],
    ['TIME'],
    ['INFO', 'server'],
    ['PING'],
  ]
}

/** Returns the rights that a process needs on each bus server. */
export function busRights(process: Exclude<RedisProcess, 'billing'>): Rights {
  const prefix = keyPrefix()
  const key = `${prefix}rights`
  const keys: Record<typeof process, Commands> = {
    gateway: [['SET', key, 'a', 'PX', '1'], ['GET', key], ['DEL', key], ['INFO', 'stats'], ['PING']],
    worker: [
      ['SET', key, 'a', 'PX', '1'],
      ['GETDEL', key],
      ['DEL', key],
    ],
    scaler: [],
    console: [],
  }
  const own = ['reports', 'capacity', 'demand', 'model-states'].map((name) => prefix + name)
  return {
    prefix,
    keyRule: '~',
    channels: process === 'console' ? own : [key],
    commands: [...keys[process], ['PUBLISH', process === 'console' ? `${prefix}observe` : key, 'a']],
  }
}
