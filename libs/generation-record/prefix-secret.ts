import { randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { prefixSecretKey } from './keys.ts'

/**
 * Returns the deployment's secret for the names under which engines cache prompts, and for the names of seats. The first
 * process that needs it makes it. All workers use the same names, because engines may share a cache among themselves, and
 * outlive their workers. If Redis loses the secret, the next process makes another one: prompts that were cached before
 * are not found again, nor are seats of processes with the other secret.
 */
export async function readPrefixSecret(redis: Redis | Cluster): Promise<string> {
  await redis.setnx(prefixSecretKey(), randomBytes(32).toString('base64url'))
  const secret = await redis.get(prefixSecretKey())
  if (secret === null)
    throw new Error(`the queue Redis has no ${prefixSecretKey()} that was written a moment ago`)
  return secret
}
