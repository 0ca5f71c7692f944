import { Redis } from 'ioredis'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import {
  finishKey,
  requirementsKey,
  seatsKey,
  VIRTUAL_TIME,
  waitingSumsKey,
  waitingExpiryKey,
  waitingKey,
} from '#libs/queue-redis/keys.ts'
import {
  generationClaim,
  generationJob,
  generationEnqueue,
  enqueuePlace,
} from '../../test/support/generation-job.ts'
import { createRedis } from '../../test/support/redis.ts'

const SIZES = [100, 10_000, 100_000]
const CALLS = 200
/**
 * The number of entries of the slow log. It is large, because the slow log also contains the commands within scripts.
 */
const LOGGED = 50 * CALLS
const PAGE = 10_000
const TAKEN = ['abcdefghijklmnop', 'qrstuvwxyzabcdef']
/**
 * The generations that wait from the start have tags from `FIRST_TAG` on, and expire at `FAR_MS`. So the generations
 * that the bench adds come before them, and none expires.
 */
const FIRST_TAG = 1_000_000
const FAR_MS = 9_999_999_999_999

/**
 * Prints how long Redis takes for each script, by the clock of Redis. Each script is measured three times: while 100,
 * 10,000 and 100,000 generations wait. Every generation has an account of its own. The last measurement, called "enqueue
 * that sweeps", is made after the virtual time has passed the finish tags of all these accounts. Each enqueue then also
 * removes some of these tags. `setup` of test/support must be called first.
 */
export async function benchRecord(print: (line: string) => void): Promise<void> {
  const server = await createRedis({ 'slowlog-log-slower-than': '0', 'slowlog-max-len': String(LOGGED) })
  const redis = new Redis(server.url)
  const record = createGenerationRecord({ redis, self: 'bench', graceMs: 60_000 })
  const countWaiting = createCountWaiting(redis)
  try {
    print(`scripts, µs in Redis, p50 / p90 of ${CALLS} calls`)
    for (const size of SIZES) {
      const model = `bench-${size}`
      await fill(redis, model, size)
      await redis.hset(seatsKey(model), 'one', '1 worker-1')
      const jobs = Array.from({ length: CALLS }, () => generationJob({ model }))
      const enqueue = await slowlog(redis, async (at) => {
        const place = enqueuePlace({ accountId: `newcomer-${at}`, mostAhead: 10 * size })
        await record.enqueue(await generationEnqueue(jobs[at] ?? generationJob({ model }), { place }))
      })
      const claim = await slowlog(redis, async () => await record.claim(model, generationClaim()))
      const warm: Record<string, string> = {}
      for (const [name, home] of Object.entries({ 'own first': 'worker-1', 'of others': 'worker-2' })) {
        const seated = Array.from({ length: CALLS + 16 }, () => generationJob({ model }))
        for (const [at, job] of seated.entries()) {
          const place = enqueuePlace({ accountId: `seated-${name}-${at}`, mostAhead: 10 * size })
          const seats = { taken: TAKEN, sought: [], otherwise: home, heldMs: 2_000 }
          await record.enqueue(await generationEnqueue(job, { place, seats }))
        }
        warm[`claim, ${name}`] = await slowlog(
          redis,
          async () => await record.claim(model, generationClaim({ worker: 'worker-1' })),
        )
        for (const { id } of seated) {
          const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 }
          await record.settle(model, { id, epoch: 1, outcome: 'completed', ...usage }, { role: 'gateway' })
        }
      }
      const settle = await slowlog(redis, async (at) => {
        const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 }
        const id = jobs[at]?.id ?? ''
        const settlement = { id, epoch: 1, outcome: 'completed', ...usage } as const
        await record.settle(model, settlement, { role: 'gateway' })
      })
      const count = await slowlog(redis, async () => await countWaiting(model))
      await redis.zadd(finishKey(model), String(FIRST_TAG * 10), VIRTUAL_TIME)
      const forget = await slowlog(redis, async () => {
        const place = enqueuePlace({ accountId: 'last', mostAhead: 10 * size })
        await record.enqueue(await generationEnqueue(generationJob({ model }), { place }))
      })
      const parts = { enqueue, claim, ...warm, settle, 'count-waiting': count, 'enqueue that sweeps': forget }
      const figures = Object.entries(parts).map(([name, each]) => `${name} ${each}`)
      print(`  ${String(size).padStart(6)} waiting and accounts: ${figures.join(', ')}`)
    }
  } finally {
    redis.disconnect()
    await server.stop()
  }
}

async function fill(redis: Redis, model: string, size: number): Promise<void> {
  const member = (n: number) => `1\n1\n1\n1\nchat\naccount-${n}\nid-${n}`
  await redis.sadd(requirementsKey(model), 'chat')
  await redis.hset(waitingSumsKey(model), '', `${size} ${size} ${size}`)
  for (let from = 0; from < size; from += PAGE) {
    const numbers = Array.from({ length: Math.min(PAGE, size - from) }, (_, at) => from + at)
    const pairs = (toPair: (n: number) => [string, string]) => numbers.flatMap(toPair)
    await redis.zadd(waitingKey(model, 'chat'), ...pairs((n) => [String(FIRST_TAG + n), member(n)]))
    await redis.zadd(waitingExpiryKey(model), ...pairs((n) => [String(FAR_MS), member(n)]))
    await redis.zadd(finishKey(model), ...pairs((n) => [String(FIRST_TAG + n + 1), `account-${n}`]))
    await redis.hset(waitingSumsKey(model), ...pairs((n) => [`account-${n}`, '1 1 1']))
  }
}

/** Measures the scripts that the calls run. Returns the median and the 90th percentile, in µs. */
async function slowlog(redis: Redis, call: (at: number) => Promise<unknown>): Promise<string> {
  await redis.slowlog('RESET')
  for (let at = 0; at < CALLS; at += 1) await call(at)
  const us: number[] = []
  const entries: unknown = await redis.slowlog('GET', LOGGED)
  for (const entry of Array.isArray(entries) ? entries : []) {
    if (!Array.isArray(entry)) continue
    const [, , durationUs, command] = entry
    const isScript = Array.isArray(command) && String(command[0]).toUpperCase().startsWith('EVAL')
    if (isScript && typeof durationUs === 'number') us.push(durationUs)
  }
  if (us.length < CALLS) throw new Error(`the slow log has ${us.length} scripts of ${CALLS} calls`)
  us.sort((a, b) => a - b)
  return `${us[Math.floor(us.length / 2)]} / ${us[Math.floor(us.length * 0.9)]}`
}
