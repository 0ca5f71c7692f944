import type { Rights } from '#libs/redis/rights.ts'
import { keyPrefix } from './keys.ts'

/**
 * Returns the rights that a process needs on the queue Redis, as one sample command for each kind of access. They cover
 * the commands that the process sends and the commands inside scripts, BullMQ's scripts included. docs/operators.md
 * lists the same rights as access rules.
 */
export function queueRights(): Rights {
  const prefix = keyPrefix()
  const key = `${prefix}rights`
  return {
    prefix,
    commands: [
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
      ['EVAL', 'return 1', '1', key],
      ['EVALSHA', '0'.repeat(40), '1', key],
      ['TIME'],
      ['INFO', 'server'],
      ['PING'],
    ],
  }
}

/** Returns the rights that a process needs on each bus server. */
export function busRights(): Rights {
  const prefix = keyPrefix()
  const key = `${prefix}rights`
  return {
    prefix,
    channel: key,
    commands: [['PUBLISH', key, 'a'], ['SET', key, 'a', 'PX', '1'], ['GET', key], ['DEL', key], ['PING']],
  }
}
