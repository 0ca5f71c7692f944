import type { Pool } from 'pg'
import type { BillingKey, KeyChanges, KeyShortage } from '#libs/billing-client/billing-calls.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'

type KeyRow = {
  id: string
  account_id: string
  sha256: Buffer
  active: boolean
  weight: number
  expires_at: Date | null
  models: string[] | null
  version: bigint
  posted: bigint
  held: bigint
  spend_limit: bigint | null
  limit_spent: bigint
  limit_held: bigint
  /**
   * The lowest price of a request: one input token of the cheapest model that the key may use, and for a chat model one
   * output token in addition. Models that are disabled or cost nothing do not count. Null if no model remains.
   */
  least: bigint | null
}

/** `$1` is the time that selects the spending period and the prices. */
const SELECT_KEYS = `
  with prices as materialized (
    select m.id, price_tokens(
      1, 0, case m.kind when 'chat' then 1 else 0 end, p.input_price, p.cached_input_price, p.output_price
    )::bigint as least
    from models m
    cross join lateral (
      select * from price_versions v where v.model = m.id and v.effective_from <= $1
      order by v.effective_from desc limit 1
    ) p
    where m.enabled
  )
  select k.id, k.account_id, a.weight, k.sha256, k.expires_at, k.models, k.version,
    k.status = 'active' and a.status = 'active' as active,
    a.posted, a.held, k.spend_limit, coalesce(b.spent, 0) as limit_spent, coalesce(b.held, 0) as limit_held, c.least
  from api_keys k
  join accounts a on a.id = k.account_id
  left join key_budgets b on b.key_id = k.id and b.period_start = period_start(k.spend_period, $1)
  cross join lateral (
    select min(c.least) as least from prices c where c.least > 0 and (k.models is null or c.id = any (k.models))
  ) c`

/**
 * The most changes in one answer. If there are more, the answer is `resync`, after which the gateway forgets all keys.
 * For billing and for the gateway, this is cheaper than a long list.
 */
const MAX_CHANGES = 1_000

/**
 * Returns the keys with these hashes, in the order of the hashes; null for a key that is unknown, revoked, expired, or
 * of a closed account.
 */
export async function findUsableKeys(
  pool: Pool,
  sha256s: readonly Buffer[],
  nowMs: number,
): Promise<(BillingKey | null)[]> {
  const { rows } = await pool.query<KeyRow>({
    name: 'find_keys',
    text: `${SELECT_KEYS} where k.sha256 = any ($2)`,
    values: [new Date(nowMs), sha256s],
  })
  const byHash = new Map(rows.map((row) => [row.sha256.toString('hex'), toBillingKey(row)]))
  return sha256s.map((sha256) => {
    const key = byHash.get(sha256.toString('hex'))
    if (!key?.active || (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)) return null
    return key
  })
}

/** Returns the changes after `since` (null: the reader has nothing yet), and the reader's new version. */
export async function readKeyChanges(
  pool: Pool,
  since: bigint | null,
  nowMs: number,
): Promise<KeyChanges & { version: bigint }> {
  const current = await readKeyVersion(pool)
  // The reader's version is higher when the database has been restored from a backup.
  if (since === null || since > current) return { version: current, resync: true, keys: [] }
  if (since === current) return { version: current, resync: false, keys: [] }
  // An account with very many keys raises the version without a change of a key (`0023-many-keys.sql`).
  if (current - since > BigInt(MAX_CHANGES)) return { version: current, resync: true, keys: [] }
  const { rows } = await pool.query<KeyRow>(
    `${SELECT_KEYS} where k.version > $2 order by k.version limit $3`,
    [new Date(nowMs), since, MAX_CHANGES + 1],
  )
  if (rows.length > MAX_CHANGES) return { version: current, resync: true, keys: [] }
  // Rows may be newer than `current`, because they are read after `current`.
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
    weight: row.weight,
    sha256: row.sha256,
    active: row.active,
    expiresAtMs: row.expires_at === null ? null : row.expires_at.getTime(),
    models: row.models,
    shortage: toShortage(row),
  }
}

/**
 * Returns the shortage of a key, or null if the key can pay the price `least`. This price is compared with the posted
 * credits and with the rest of the spend limit. Holds are not subtracted from either amount. When a hold ends, gateways
 * receive no notification, so a key that is short only because of holds must not be refused. If both amounts are lower
 * than the price, the shortage of the account is returned, as in `reserve`.
 */
function toShortage({
  posted,
  held,
  least,
  spend_limit: limit,
  limit_spent: spent,
  limit_held: limitHeld,
}: KeyRow): KeyShortage | null {
  if (least === null) return null
  if (posted < least) {
    return { of: 'account', availableNano: toNanoCredits(posted - held), heldNano: toNanoCredits(held) }
  }
  if (limit === null || limit - spent >= least) return null
  const left = limit - spent - limitHeld
  return {
    of: 'key-limit',
    availableNano: toNanoCredits(left > 0n ? left : 0n),
    heldNano: toNanoCredits(limitHeld),
  }
}
