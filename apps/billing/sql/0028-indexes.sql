-- For look-ups by account and key, and for reconciliation's windows of time.

create index concurrently if not exists ledger_by_debit on ledger (debit_account, seq);
create index concurrently if not exists ledger_by_credit on ledger (credit_account, seq);

-- The key's and the model's usage by day, and when a key was last used.
create index concurrently if not exists usage_by_account on usage (account_id, settled_at);
create index concurrently if not exists usage_by_key on usage (key_id, settled_at);

create index concurrently if not exists usage_by_time on usage using brin (settled_at);
create index concurrently if not exists reservations_by_closing on reservations using brin (closed_at);
