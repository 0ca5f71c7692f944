-- Accounts, their keys, and the counters by which watchers notice changes.
--
-- Invariants that every file here keeps:
-- * Money that moved is in the ledger; money set aside is a reservation and the account's `held`. What an account
--   can spend is posted - held, read from its locked row and never from a sum or a cache.
-- * Locks are taken on accounts first, ascending by id, then on reservations, ascending by id.
-- * Under READ COMMITTED each statement sees what was committed when it began. So a function locks in its first
--   statement and reads in a later one: a statement that locks and sums at once reads sums from before its lock.
-- * The time is always a parameter.

create table accounts (
  id uuid primary key,
  name text not null check (name <> ''),
  status text not null default 'active' check (status in ('active', 'closed')),
  posted bigint not null default 0,
  held bigint not null default 0 check (held >= 0),
  created_at timestamptz not null,
  constraint balance_not_negative check (posted - held >= 0)
) with (fillfactor = 50); -- Every hold updates the row twice; free space in the page keeps those updates off the index.

-- One row per kind of change. Its lock is held until commit, so versions become visible in their order: a watcher
-- that has seen version 7 has seen all up to 7. A sequence would not promise that.
create table change_counters (
  name text primary key,
  version bigint not null
);

insert into change_counters values ('keys', 0), ('catalog', 0);

create function next_version(counter text) returns bigint language sql as $$
  update change_counters set version = version + 1 where name = counter returning version
$$;

create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text,
  sha256 bytea not null unique check (octet_length(sha256) = 32),
  prefix text not null,
  last4 text not null,
  status text not null default 'active' check (status in ('active', 'revoked')),
  expires_at timestamptz,
  created_at timestamptz not null,
  revoked_at timestamptz,
  version bigint not null
);

create index api_keys_by_account on api_keys (account_id);
create index api_keys_by_version on api_keys (version);

create function number_key_change() returns trigger language plpgsql as $$
begin
  new.version := next_version('keys');
  perform pg_notify('millrace_keys', new.version::text);
  return new;
end
$$;

create trigger key_changed before insert or update on api_keys
  for each row execute function number_key_change();

-- A key works only while its account does, so a change of the account is a change of each of its keys.
create function number_keys_of_account() returns trigger language plpgsql as $$
begin
  update api_keys set status = status where account_id = new.id;
  return null;
end
$$;

create trigger account_status_changed after update of status on accounts
  for each row when (old.status is distinct from new.status) execute function number_keys_of_account();
