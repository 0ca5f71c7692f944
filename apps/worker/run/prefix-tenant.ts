import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { WorkerConfig } from '../config.ts'

/**
 * Returns the name under which the engine caches a generation's prompt: only prompts of the same name find it again.
 * Null: all prompts share the cache.
 */
export type PrefixTenantOf = (job: Pick<GenerationJob, 'tenant'>) => string | null

/** As long as a UUID, so a name cannot be guessed. */
const NAME_BYTES = 16
/** An HMAC costs a request about 30 µs, so the names of the latest tenants are kept, in about 1 MB. */
const KEPT_NAMES = 5_000

/** The names are keyed hashes: the engine, which logs its requests, cannot infer from one whose prompt it is. */
export function createPrefixTenantOf(options: {
  sharing: WorkerConfig['PREFIX_SHARING']
  secret: string
}): PrefixTenantOf {
  const { sharing, secret } = options
  if (sharing === 'all') return () => null
  const names = new LRUCache<string, string>({ max: KEPT_NAMES })
  return ({ tenant: { accountId, keyId } }) => {
    const tenant = sharing === 'key' ? `key ${keyId}` : `account ${accountId}`
    const known = names.get(tenant)
    if (known !== undefined) return known
    const hmac = createHmac('sha256', secret).update(tenant)
    const name = hmac.digest().subarray(0, NAME_BYTES).toString('base64url')
    names.set(tenant, name)
    return name
  }
}
