-- All indexes that are not a primary key or a unique constraint. They are built while the tables are in use. The index
-- of a partitioned table is built partition by partition.

create index concurrently if not exists accounts_by_age on accounts (created_at, id);
create index concurrently if not exists api_keys_by_account on api_keys (account_id);
create index concurrently if not exists api_keys_by_version on api_keys (version);
create index concurrently if not exists api_keys_by_age on api_keys (created_at, id);
create index concurrently if not exists management_keys_by_account on management_keys (account_id);
create index concurrently if not exists management_keys_by_age on management_keys (created_at, id);
create index concurrently if not exists key_requests_by_age on key_requests (account_id, created_at);

-- For expiry, an account's open holds, and reconciliation's window of time.
create index concurrently if not exists reservations_held_by_expiry on reservations (model, expires_at)
  where state = 'held';
create index concurrently if not exists reservations_held_by_account on reservations (account_id)
  where state = 'held';
create index concurrently if not exists reservations_by_closing on reservations using brin (closed_at);

-- For an account's and a key's usage by day, a key's last use, and reconciliation's window of time.
create index concurrently if not exists usage_by_account on usage (account_id, settled_at);
create index concurrently if not exists usage_by_key on usage (key_id, settled_at);
create index concurrently if not exists usage_by_time on usage using brin (settled_at);

-- For the list of requests, and for sums of one hour. The second index is for the few requests that did not complete.
create index concurrently if not exists usage_by_settling on usage (settled_at, reservation_id);
create index concurrently if not exists usage_not_completed on usage (settled_at, reservation_id)
  where outcome <> 'completed';

-- For the usage of an account or a key by hour. The primary key serves the usage of all accounts by hour.
create index concurrently if not exists usage_hours_by_account on usage_hours (account_id, hour);
create index concurrently if not exists usage_hours_by_key on usage_hours (key_id, hour);

create index concurrently if not exists settlement_alarms_by_time on settlement_alarms (seen_at);

create index concurrently if not exists ledger_by_debit on ledger (debit_account, seq);
create index concurrently if not exists ledger_by_credit on ledger (credit_account, seq);
create index concurrently if not exists ledger_write_offs on ledger (seq) where kind = 'write-off';
create index concurrently if not exists ledger_write_offs_by_time on ledger (posted_at) where kind = 'write-off';

create index concurrently if not exists admin_sessions_by_age on admin_sessions (created_at, id);
create index concurrently if not exists admin_audit_by_target on admin_audit (target, seq);
create index concurrently if not exists admin_audit_by_actor on admin_audit (actor, seq);
