-- The ledger is sealed once a day: its new entries are chained into one hash, and the balances that they add up to are
-- kept. So no change of the past goes unnoticed, and reconciliation need not start from the first entry.

create table ledger_seals (
  day date primary key, -- the UTC day on which the seal was made
  first_seq bigint not null, -- entries from here
  last_seq bigint not null, -- to here, inclusive; below first_seq when the day had no entries
  entries bigint not null,
  sha256 bytea not null check (octet_length(sha256) = 32), -- hash of the chain up to last_seq
  sealed_at timestamptz not null
);

create trigger ledger_seals_append_only before update or delete or truncate on ledger_seals
  for each statement execute function refuse_change();

-- The sum of each account's entries up to the newest seal.
create table sealed_balances (
  account uuid primary key,
  balance numeric(40, 0) not null
);

-- Results of the scheduled reconciliations, of the last 90 days.
create table reconciliation_runs (
  seq bigint generated always as identity primary key,
  at timestamptz not null,
  counts jsonb not null -- for each question, the number of rows that contradict it
);
