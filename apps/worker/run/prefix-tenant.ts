import { createHmac, randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { prefixSecretKey } from '#libs/generation-record/keys.ts'
import type { WorkerConfig } from '../config.ts'

/**
 * The name under which a generation's prompt is kept in the engine's prefix cache, and under which alone it is found
 * again; null where all share what is cached.
 */
export type PrefixTenantOf = (job: Pick<GenerationJob, 'tenant'>) => string | null

/** As long as a UUID, which cannot be guessed either. */
const NAME_BYTES = 16

/** The engine, which logs what it is asked, cannot tell from the name whose prompt it is. */
export function createPrefixTenantOf(options: {
  sharing: WorkerConfig['PREFIX_SHARING']
  secret: string
}): PrefixTenantOf {
  const { sharing, secret } = options
  if (sharing === 'all') return () => null
  return ({ tenant: { accountId, keyId } }) => {
    const hmac = createHmac('sha256', secret).update(
      sharing === 'key' ? `key ${keyId}` : `account ${accountId}`,
    )
    return hmac.digest().subarray(0, NAME_BYTES).toString('base64url')
  }
}

/**
 * The deployment's secret for these names, made by the first worker that needs it, so that all workers use the same
 * names: engines may share a cache among themselves, and outlive their workers. If Redis loses it, the next worker makes
 * another, and what was cached before is not found again.
 */
export async function readPrefixSecret(redis: Redis | Cluster): Promise<string> {
  await redis.setnx(prefixSecretKey, randomBytes(32).toString('base64url'))
  const secret = await redis.get(prefixSecretKey)
  if (secret === null)
    throw new Error(`the queue Redis has no ${prefixSecretKey} that was written a moment ago`)
  return secret
}
