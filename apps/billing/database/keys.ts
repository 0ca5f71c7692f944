import type { Pool } from 'pg'
import type { BillingKey, KeyChanges } from '#libs/billing-client/billing-calls.ts'

type KeyRow = {
  id: string
  account_id: string
  sha256: Buffer
  active: boolean
  expires_at: Date | null
  models: string[] | null
  version: bigint
}

const KEY_COLUMNS = `k.id, k.account_id, k.sha256, k.expires_at, k.models, k.version,
  k.status = 'active' and a.status = 'active' as active`

/** More changes than this become a resync: reading everything again is cheaper for both sides. */
const MAX_CHANGES = 1_000

/** The key with this hash, or null when it is unknown, revoked, expired, or its account is closed. */
export async function findUsableKey(pool: Pool, sha256: Buffer, nowMs: number): Promise<BillingKey | null> {
  const { rows } = await pool.query<KeyRow>({
    name: 'find_key',
    text: `select ${KEY_COLUMNS} from api_keys k join accounts a on a.id = k.account_id where k.sha256 = $1`,
    values: [sha256],
  })
  const key = rows[0] && toBillingKey(rows[0])
  if (!key?.active || (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)) return null
  return key
}

/** The changes after `since` (null: the reader has nothing yet), and the reader's new version. */
export async function readKeyChanges(
  pool: Pool,
  since: bigint | null,
): Promise<KeyChanges & { version: bigint }> {
  const current = await readKeyVersion(pool)
  // The reader's version is higher when the database has been restored from a backup.
  if (since === null || since > current) return { version: current, resync: true, keys: [] }
  if (since === current) return { version: current, resync: false, keys: [] }
  const { rows } = await pool.query<KeyRow>(
    `select ${KEY_COLUMNS} from api_keys k join accounts a on a.id = k.account_id
     where k.version > $1 order by k.version limit $2`,
    [since, MAX_CHANGES + 1],
  )
  if (rows.length > MAX_CHANGES) return { version: current, resync: true, keys: [] }
  // Rows may be newer than `current`, never older.
  const version = rows.reduce((latest, row) => (row.version > latest ? row.version : latest), current)
  return { version, resync: false, keys: rows.map(toBillingKey) }
}

async function readKeyVersion(pool: Pool): Promise<bigint> {
  const { rows } = await pool.query<{ version: bigint }>(
    "select version from change_counters where name = 'keys'",
  )
  const version = rows[0]?.version
  if (version === undefined) throw new Error('keys have no version')
  return version
}

function toBillingKey(row: KeyRow): BillingKey {
  return {
    keyId: row.id,
    accountId: row.account_id,
    sha256: row.sha256,
    active: row.active,
    expiresAtMs: row.expires_at === null ? null : row.expires_at.getTime(),
    models: row.models,
  }
}
