import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type { AuditRole, Role } from '#libs/admin-contract/roles.ts'

/** The tables of `sql/tables/` that are used outside of the money functions. Only those functions move money. */
export type Tables = {
  accounts: {
    id: string
    name: string
    status: Generated<'active' | 'closed'>
    weight: Generated<number>
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
    status: Generated<'active' | 'disabled' | 'revoked'>
    expires_at: Date | null
    created_at: Date
    revoked_at: Date | null
    models: string[] | null
    spend_limit: bigint | null
    spend_period: SpendPeriod | null
    requests_per_minute: number | null
    tokens_per_minute: bigint | null
    rotated_from: string | null
    /**
     * The limits that operators have set on the key, which its account may not undo: `OperatorLimits`, written as JSON.
     */
    operator_limits: ColumnType<unknown, string | undefined, string>
    /** Set by a trigger. */
    version: Generated<bigint>
  }
  management_keys: {
    id: string
    account_id: string
    name: string
    sha256: Buffer
    prefix: string
    last4: string
    created_at: Date
    expires_at: Date | null
    last_used_at: Date | null
    revoked_at: Date | null
  }
  key_requests: {
    account_id: string
    idempotency_key: string
    sha256: Buffer
    key_id: string
    created_at: Date
  }
  key_budgets: { key_id: string; period_start: Date; held: bigint; spent: bigint; counted: bigint }
  models: {
    id: string
    kind: 'chat' | 'embedding'
    created_s: bigint
    owned_by: string
    context_window: number
    max_output: number
    embedding_dimensions: number | null
    matryoshka: boolean | null
    tools: boolean
    reasoning: boolean
    default_effort: 'off' | 'low'
    fixed_state: 'busy' | 'warming' | null
    enabled: boolean
  }
  price_versions: {
    id: Generated<bigint>
    model: string
    effective_from: Date
    input_price: bigint
    cached_input_price: bigint
    output_price: bigint
  }
  catalog_file: { only_row: Generated<boolean>; sha256: Buffer }
  reservations: {
    id: string
    state: 'held' | 'settled' | 'released' | 'expired'
    /** This and the following fields are null only for a tombstone, the release of an unknown id. */
    key_id: string | null
    model: string | null
    input_tokens: number | null
    wanted_output: number | null
    deadline: Date | null
    exact_input: number | null
    exact_wanted: number | null
    account_id: string | null
    price_version: bigint | null
    granted_output: number | null
    amount: bigint | null
    clamped: boolean | null
    expires_at: Date | null
    created_at: Date
    closed_at: Date | null
    extended_deadline: Date | null
  }
  usage: {
    reservation_id: string
    account_id: string
    key_id: string
    model: string
    price_version: bigint
    epoch: number
    outcome: 'completed' | 'cancelled' | 'fault' | 'never-ran'
    prompt_tokens: number
    cached_tokens: number
    completion_tokens: number
    /** The column is numeric, because a cost may exceed a bigint. */
    cost: string
    charged: bigint
    late: boolean
    settled_by: string
    settled_at: Date
  }
  request_timings: {
    reservation_id: string
    waited_ms: number | null
    ahead: number | null
    first_token_ms: number | null
    ran_ms: number | null
    finish_reason: string | null
    error_code: string | null
    reasoning_tokens: number | null
    streamed: boolean | null
    written_at: Date
  }
  settlement_alarms: {
    seq: Generated<bigint>
    reservation_id: string
    kind: 'unknown' | 'released' | 'different'
    epoch: number
    outcome: string
    prompt_tokens: number
    cached_tokens: number
    completion_tokens: number
    settled_by: string
    seen_at: Date
  }
  ledger: {
    seq: Generated<bigint>
    kind: LedgerKind
    ref: string
    debit_account: string
    credit_account: string
    amount: bigint
    posted_at: Date
  }
  ledger_seals: {
    day: Date
    first_seq: bigint
    last_seq: bigint
    entries: bigint
    sha256: Buffer
    sealed_at: Date
  }
  reconciliation_runs: {
    seq: Generated<bigint>
    at: Date
    counts: JSONColumnType<{ question: string; rows: number }[]>
  }
  admin_audit: {
    seq: Generated<bigint>
    at: Date
    actor: string
    role: AuditRole
    action: string
    target: string | null
    reason: string | null
    details: JSONColumnType<Record<string, unknown>>
  }
  admin_credentials: {
    id: string
    name: string
    role: Role
    sha256: Buffer
    created_at: Date
    revoked_at: Date | null
  }
  admin_sessions: {
    id: string
    /** The credential's id; null if the session belongs to the configured token. */
    credential_id: string | null
    role: Role
    user_agent: string | null
    /** The hash of the session's token; null if the row is a ticket. */
    sha256: Buffer | null
    ticket_sha256: Buffer | null
    created_at: Date
    last_used_at: Date
    ended_at: Date | null
  }
}

export type LedgerKind = 'topup' | 'adjustment' | 'charge' | 'write-off'

export type SpendPeriod = 'day' | 'week' | 'month' | 'total'
