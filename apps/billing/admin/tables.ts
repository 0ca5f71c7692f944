import type { Generated } from 'kysely'

/** What the operators' interface reads and writes of `sql/`. Money moves only through the functions there. */
export type Tables = {
  accounts: {
    id: string
    name: string
    status: Generated<'active' | 'closed'>
    posted: Generated<bigint>
    held: Generated<bigint>
    created_at: Date
  }
  api_keys: {
    id: string
    account_id: string
    name: string | null
    sha256: Buffer
    prefix: string
    last4: string
    status: Generated<'active' | 'revoked'>
    expires_at: Date | null
    created_at: Date
    revoked_at: Date | null
    /** Set by a trigger. */
    version: Generated<bigint>
  }
  reservations: { id: string; account_id: string | null; state: 'held' | 'settled' | 'released' | 'expired' }
  reconciliation: { name: string; count: bigint }
}
