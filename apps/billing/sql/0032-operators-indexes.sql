-- For the operators' lists.

create index concurrently if not exists accounts_by_age on accounts (created_at, id);
create index concurrently if not exists api_keys_by_age on api_keys (created_at, id);
create index concurrently if not exists ledger_write_offs on ledger (seq) where kind = 'write-off';
create index concurrently if not exists admin_audit_by_actor on admin_audit (actor, seq);
