import { z } from 'zod'
import { scalerKeys } from '#libs/queue-redis/keys.ts'
import type { RedisClient } from '#libs/redis/connect-redis.ts'

/** The value of the lock. */
export const toHolder = (self: string, term: number) => `${term} ${self}`

export type Lead = {
  /**
   * Renews the lead, or takes it if there is no leader. `term` is null while another scaler leads. `redisMs` is the
   * time of the queue Redis in ms. Rejects when Redis does not answer.
   */
  renew(): Promise<{ term: number | null; redisMs: number }>
  /**
   * Returns the term while this process leads and its lock cannot have expired, otherwise null. So a process that was
   * frozen gets null if its lock has expired meanwhile.
   */
  term(): number | null
  /**
   * Gives up the lead, so that another scaler takes it at once. Never rejects: if Redis does not answer, the lead ends
   * when its lock in Redis expires.
   */
  resign(): Promise<void>
}

/** A leader that is silent for longer loses the lock. */
const LOCK_MS = 5_000
/** The leader stops acting this long before the lock expires. */
const SLACK_MS = 500

/**
 * Elects one leader among the scalers with the same name, by a lock in the queue Redis. Each term has a number. The
 * number of a new term is at least the Unix time in seconds. So it is higher than all earlier numbers even if Redis has
 * lost its data, unless the clock of Redis has gone back too.
 */
export function createLead(options: {
  redis: RedisClient
  name: string
  /** A random text that other processes can only read in the lock: it proves to workers who leads. */
  self: string
  nowMs: () => number
}): Lead {
  const { redis, self, nowMs } = options
  const { leader: leaderKey, term: termKey } = scalerKeys(options.name)
  let term: number | null = null
  let leadsUntilMs = -Infinity

  return {
    async renew() {
      const startedMs = nowMs()
      const reply = await redis.eval(RENEW, 2, leaderKey, termKey, self, String(LOCK_MS))
      const [given, redisMs] = RenewReply.parse(reply)
      term = given === 0 ? null : given
      leadsUntilMs = term === null ? -Infinity : startedMs + LOCK_MS - SLACK_MS
      return { term, redisMs }
    },
    term: () => (nowMs() < leadsUntilMs ? term : null),
    async resign() {
      leadsUntilMs = -Infinity
      if (term === null) return
      await redis.eval(RESIGN, 1, leaderKey, toHolder(self, term)).catch(() => {})
      term = null
    },
  }
}

/**
 * KEYS: leader, term. ARGV: boot id, lifetime of the lock in ms. Returns { the term, or 0 while another scaler leads;
 * time in ms }. The script may write while memory is full, because a full Redis must not leave the scalers without a
 * leader.
 */
const RENEW = `#!lua flags=allow-oom
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder = redis.call('GET', KEYS[1])
if holder then
  local term, id = string.match(holder, '^(%d+) (.+)$')
  if id ~= ARGV[1] then return { 0, now } end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return { tonumber(term), now }
end
local term = math.max(tonumber(redis.call('GET', KEYS[2]) or 0) + 1, tonumber(time[1]))
redis.call('SET', KEYS[2], string.format('%d', term))
redis.call('SET', KEYS[1], string.format('%d', term) .. ' ' .. ARGV[1], 'PX', ARGV[2])
return { term, now }`

/** KEYS: leader. ARGV: this process's value of the lock. */
const RESIGN = `#!lua flags=allow-oom
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`

const RenewReply = z.tuple([z.int(), z.int()])
