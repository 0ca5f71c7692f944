import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { WorkerConfig } from '../../config.ts'

/**
 * Returns the name under which the engine caches a generation's prompt. The engine reuses a cached prompt only for
 * prompts with the same name. Null: all prompts share the cache.
 */
export type PrefixTenantOf = (job: Pick<GenerationJob, 'tenant'>) => string | null

/** As long as a UUID, so a name cannot be guessed. */
const NAME_BYTES = 16
/**
 * The names of this many tenants are kept, because an HMAC costs a request about 30 µs. The least recently used name is
 * dropped first. All names take about 1 MB.
 */
const KEPT_NAMES = 5_000

/**
 * Creates a `PrefixTenantOf`. The names that the created function returns appear in the engine's logs. They are keyed
 * hashes, so that the logs do not reveal the account or the key that sent a prompt.
 */
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
