-- Returns the text of a ledger entry that is hashed.
--
-- In:  entry.
-- Out: seq|kind|ref|debit|credit|amount|time, the time in UTC with microseconds.
create or replace function ledger_line(entry ledger) returns text language sql stable parallel safe as $$
  select concat_ws('|', entry.seq, entry.kind, entry.ref, entry.debit_account, entry.credit_account, entry.amount,
    to_char(entry.posted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
$$;
