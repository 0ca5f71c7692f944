-- Archived months, which have left the database: facts about their files, and the sums and entries that the remaining
-- rows need.
--
-- An archived month never counts as zero: the sum of its entries is carried as an opening balance of each account. The
-- hash of these balances is in the archive's row. Reconciliation begins with the balances, and counts a contradiction
-- if they do not match the hash.

create table ledger_archives (
  month date primary key check (month = date_trunc('month', month)),
  first_seq bigint not null, -- entries from here
  last_seq bigint not null, -- to here, where a seal ends
  chain_before bytea not null check (octet_length(chain_before) = 32), -- hash of the seals' chain before the entries
  chain_after bytea not null check (octet_length(chain_after) = 32), -- hash of the seals' chain after the entries
  ledger_lines bigint not null,
  ledger_sha256 bytea not null check (octet_length(ledger_sha256) = 32), -- hash of the file's lines
  usage_lines bigint not null,
  usage_sha256 bytea not null check (octet_length(usage_sha256) = 32),
  reservation_lines bigint not null,
  reservations_sha256 bytea not null check (octet_length(reservations_sha256) = 32),
  balances_sha256 bytea not null check (octet_length(balances_sha256) = 32), -- hash of archived_balances with this month
  archived_at timestamptz not null
);

create trigger ledger_archives_append_only before update or delete or truncate on ledger_archives
  for each statement execute function refuse_change();

-- The sum of each account's archived entries.
create table archived_balances (
  account uuid primary key,
  balance numeric(40, 0) not null
);

-- The sum of archived charges in each period of a key's budget.
create table archived_spending (
  key_id uuid not null,
  period_start timestamptz not null,
  spent numeric(40, 0) not null,
  primary key (key_id, period_start)
);

-- Archived entries that rows of the database still refer to: all top-ups and adjustments, and the charges and
-- write-offs of usage that is still in the database, because it was settled after its month or its entry has a number
-- of the next month.
create table carried_entries (
  seq bigint primary key,
  kind text not null,
  ref uuid not null,
  debit_account uuid not null,
  credit_account uuid not null,
  amount bigint not null,
  posted_at timestamptz not null
);

-- Months with usage that was settled more than 7 days after its request was made, and the time of the latest such
-- settlement. Usage of a day is searched for in the partitions of that day, of the 7 days before it, and of the months
-- in this table.
create table late_usage (
  month date primary key,
  until timestamptz not null
);

-- Returns when a UUIDv7 was made, to the millisecond. For any other UUID it returns some time, always the same.
create function made_at(id uuid) returns timestamptz language sql immutable parallel safe as $$
  select to_timestamp(('x0000' || substr(replace(id::text, '-', ''), 1, 12))::bit(64)::bigint / 1000.0)
$$;

create function note_late_usage() returns trigger language plpgsql as $$
begin
  insert into late_usage as l (month, until)
  values (date_trunc('month', made_at(new.reservation_id) at time zone 'UTC'), new.settled_at)
  on conflict (month) do update set until = excluded.until where l.until < excluded.until;
  return null;
end
$$;

create trigger usage_is_late after insert on usage
  for each row when (made_at(new.reservation_id) < new.settled_at - interval '7 days')
  execute function note_late_usage();

insert into late_usage
select date_trunc('month', made_at(reservation_id) at time zone 'UTC'), max(settled_at)
from usage where made_at(reservation_id) < settled_at - interval '7 days' group by 1;
