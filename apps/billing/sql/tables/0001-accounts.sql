-- Accounts, their API keys, and the counters by which every replica notices changes.
--
-- Invariants of the whole schema:
-- * Money that moved is in the ledger; money set aside is a reservation and part of the account's `held`. An account
--   can spend posted - held, read from its locked row and never from a sum or a cache.
-- * Functions lock accounts first, in the order of their ids, then reservations, in the order of theirs.
-- * Under READ COMMITTED a statement sees what was committed when it began. So a function locks rows in one statement
--   and reads sums in a later one: a single statement would read sums from before it had the locks.
-- * The time is always a parameter.

create table accounts (
  id uuid primary key,
  name text not null check (name <> ''),
  status text not null default 'active' check (status in ('active', 'closed')),
  posted bigint not null default 0,
  held bigint not null default 0 check (held >= 0),
  created_at timestamptz not null,
  constraint balance_not_negative check (posted - held >= 0)
) with (fillfactor = 50); -- Every hold updates the row twice; with free space in the page no index is written for it.

-- One row per kind of change. Its lock is held until commit, so versions become visible in their order: a reader that
-- has seen version 7 has seen all changes up to 7. A sequence would not guarantee that.
create table change_counters (
  name text primary key,
  version bigint not null
);

insert into change_counters values ('keys', 0), ('catalog', 0);

create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text,
  sha256 bytea not null unique check (octet_length(sha256) = 32),
  prefix text not null,
  last4 text not null,
  status text not null default 'active' check (status in ('active', 'disabled', 'revoked')),
  expires_at timestamptz, -- null: never
  created_at timestamptz not null,
  revoked_at timestamptz,
  rotated_from uuid, -- the key that this one replaces
  models text[], -- the models that it may use; null: all
  spend_limit bigint check (spend_limit > 0), -- nano-credits per spend_period; null: no limit
  spend_period text check (spend_period in ('day', 'week', 'month', 'total')),
  requests_per_minute integer check (requests_per_minute > 0),
  tokens_per_minute bigint check (tokens_per_minute > 0),
  version bigint not null, -- value of the counter 'keys' at the key's last change
  constraint spend_limit_has_a_period check (num_nulls(spend_limit, spend_period) in (0, 2))
);

create function number_key_change() returns trigger language plpgsql as $$
begin
  new.version := next_version('keys');
  perform pg_notify('millrace_keys', new.version::text);
  return new;
end
$$;

create trigger key_changed before insert or update on api_keys
  for each row execute function number_key_change();

-- A key works only while its account is active, so a change of the account's status is a change of all its keys.
create function number_keys_of_account() returns trigger language plpgsql as $$
begin
  update api_keys set status = status where account_id = new.id;
  return null;
end
$$;

create trigger account_status_changed after update of status on accounts
  for each row when (old.status is distinct from new.status) execute function number_keys_of_account();
