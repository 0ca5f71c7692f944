import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'

/** Matches the keys that a model or a cluster keeps for ever. Every other key must expire. */
const LASTING = [
  /^mr2:main:\{[^}]+\}:(settlements|settlements:(mark|confirmed|state|dead)|virtual|finish)$/u,
  // The whole cluster has one such key.
  /^mr2:main:prefix-secret$/u,
  /^mr2:main:\{billing:\}queue$/u,
  // BullMQ's own keys of each queue.
  /^mr2:main:\{[^}]+\}:generations:(meta|id|events|marker|stalled)$/u,
]

/** Matches keys of a model that exist only while something waits. */
const EMPTY_AT_REST = [
  /:(waiting:[^:]*|needs|waiting-expiry|waiting-members|waiting-sums)$/u,
  /:generations:(wait|active|prioritized|delayed|failed|completed|paused|waiting-children)$/u,
  // The key of a job.
  /:generations:[0-9a-f-]+\.[\d.]+$/u,
]

/** The id of the entry that the fault `bad-entry` writes. */
export const BAD_ENTRY = 'written-by-a-fault'

const REST_LIMIT_MS = 45_000

/**
 * Returns the problems of the queue Redis when nothing runs: sets of waiting generations and of jobs that do not become
 * empty, and keys that would stay for ever although nothing owns them.
 */
export async function checkKeys(url: string): Promise<{ problems: string[]; keys: number }> {
  const redis = new Redis(url, { maxRetriesPerRequest: null })
  redis.on('error', () => {})
  try {
    const putAside = await findPutAside(redis)
    const giveUpMs = performance.now() + REST_LIMIT_MS
    for (;;) {
      const keys = await scan(redis)
      const problems = await findProblems(redis, keys)
      if (problems.length === 0 || performance.now() > giveUpMs)
        return { problems: [...putAside, ...problems], keys: keys.length }
      await sleep(500)
    }
  } finally {
    redis.disconnect()
  }
}

async function scan(redis: Redis): Promise<string[]> {
  const keys = new Set<string>()
  for await (const batch of redis.scanStream({ count: 500 })) {
    if (!Array.isArray(batch)) continue
    for (const key of batch) keys.add(String(key))
  }
  return Array.from(keys).toSorted()
}

/** Returns the settlements among the dead letters. Only entries that a fault wrote may be there. */
async function findPutAside(redis: Redis): Promise<string[]> {
  const keys = (await scan(redis)).filter((key) => key.endsWith(':settlements:dead'))
  const entries = await Promise.all(keys.map(async (key) => await redis.xrange(key, '-', '+')))
  return entries
    .flat()
    .filter(([, fields]) => !fields.includes(BAD_ENTRY))
    .map(([, fields]) => `a settlement was put aside: ${fields.join(' ').slice(0, 300)}`)
}

async function findProblems(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const problems: string[] = []
  for (const key of keys) {
    // A key that expired meanwhile has the TTL -2.
    if ((await redis.pttl(key)) !== -1) continue
    if (EMPTY_AT_REST.some((pattern) => pattern.test(key))) {
      problems.push(`the key ${key} does not empty: ${await show(redis, key)}`)
    } else if (!LASTING.some((pattern) => pattern.test(key))) {
      problems.push(`the key ${key} (${await redis.type(key)}) never expires`)
    }
  }
  return problems
}

async function show(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key)
  if (type === 'zset') return JSON.stringify(await redis.zrange(key, '0', '2'))
  if (type === 'list') return JSON.stringify(await redis.lrange(key, '0', '2'))
  if (type === 'hash') return JSON.stringify(Object.entries(await redis.hgetall(key)).slice(0, 2))
  return type
}
