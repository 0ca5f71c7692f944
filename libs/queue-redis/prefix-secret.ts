import { randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { prefixSecretKey } from './keys.ts'

/**
 * Returns the secret from which all workers of the deployment compute the names that a `PrefixTenantOf` returns, and
 * all gateways the names of seats. The first process that needs the secret makes it. The names are the same for all
 * processes, because several engines may share one cache, an engine may outlive its worker, and a turn may reach any
 * gateway. If Redis loses the secret, the next process that starts makes another. Processes that run already keep the
 * old secret. Prompts that were cached under the old secret are not found under the new one, and seats are not found
 * by gateways with the other secret.
 */
export async function readPrefixSecret(redis: Redis | Cluster): Promise<string> {
  // Redis refuses the next command while its memory is full, so a secret that exists is read without it.
  const known = await redis.get(prefixSecretKey())
  if (known !== null) return known
  await redis.setnx(prefixSecretKey(), randomBytes(32).toString('base64url'))
  const secret = await redis.get(prefixSecretKey())
  if (secret === null)
    throw new Error(`the queue Redis has no ${prefixSecretKey()} that was written a moment ago`)
  return secret
}
