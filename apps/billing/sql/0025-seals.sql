-- Once a day the ledger is sealed: its new entries are chained into one hash, and the balances that they come to are
-- kept. So nobody can change the past unseen, and reconciliation need not start from the first entry.

create table ledger_seals (
  day date primary key, -- the UTC day on which it was made
  first_seq bigint not null, -- entries from here
  last_seq bigint not null, -- to here, inclusive; below first_seq when the day had none
  entries bigint not null,
  sha256 bytea not null check (octet_length(sha256) = 32), -- of the chain up to last_seq
  sealed_at timestamptz not null
);

create trigger ledger_seals_append_only before update or delete or truncate on ledger_seals
  for each statement execute function refuse_change();

-- What each account's entries up to the newest seal come to.
create table sealed_balances (
  account uuid primary key,
  balance numeric(40, 0) not null
);

-- An entry as it is hashed: seq|kind|ref|debit|credit|amount|time, the time in UTC with microseconds.
create function ledger_line(entry ledger) returns text language sql stable parallel safe as $$
  select concat_ws('|', entry.seq, entry.kind, entry.ref, entry.debit_account, entry.credit_account, entry.amount,
    to_char(entry.posted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
$$;

-- The hash of the entries after `after` up to `until`, chained to `start`: each time the SHA-256 of the hash before
-- and the next line.
create function chain_ledger(start bytea, after bigint, until bigint) returns bytea language plpgsql stable as $$
declare
  entry ledger;
  hash bytea := start;
begin
  for entry in select * from ledger where seq > after and seq <= until order by seq loop
    hash := sha256(hash || convert_to(ledger_line(entry), 'UTF8'));
  end loop;
  return hash;
end
$$;

-- Up to which number every entry is there: none of a lower number is still being written.
--
-- A number is taken before its entry is committed, so a lower one may appear later. Who writes entries holds a lock on
-- the table until it commits, and takes it before the number. So this waits until everybody who holds one now is done,
-- as an index that is built concurrently does; nobody waits for this.
create function ledger_horizon_v1() returns bigint language plpgsql volatile as $$
declare
  last bigint;
  writers text[];
begin
  select coalesce(max(seq), 0) into last from ledger;
  select array_agg(virtualtransaction) into writers from pg_locks
  where database = (select oid from pg_database where datname = current_database())
    and relation = 'ledger'::regclass and mode = 'RowExclusiveLock' and granted and pid <> pg_backend_pid();
  while exists (
    select from pg_locks where relation = 'ledger'::regclass and virtualtransaction = any (writers)
  ) loop
    perform pg_sleep(0.005);
  end loop;
  return last;
end
$$;

-- Seals all that was posted until now, once a day.
--
-- In:  at (now).
-- Out: the day's seal, made by this call or before.
create function seal_ledger_v1(at timestamptz) returns ledger_seals language plpgsql security definer as $$
declare
  today date := (at at time zone 'UTC')::date;
  latest ledger_seals;
  last bigint;
  made ledger_seals;
begin
  lock table ledger_seals in exclusive mode;
  select * into latest from ledger_seals order by day desc limit 1;
  if latest.day >= today then
    return latest;
  end if;
  last := ledger_horizon_v1();

  insert into sealed_balances as b (account, balance)
  select account, sum(amount) from (
    select credit_account as account, amount from ledger where seq > coalesce(latest.last_seq, 0) and seq <= last
    union all
    select debit_account, -amount from ledger where seq > coalesce(latest.last_seq, 0) and seq <= last
  ) e group by account
  on conflict (account) do update set balance = b.balance + excluded.balance;

  insert into ledger_seals values (
    today, coalesce(latest.last_seq, 0) + 1, last,
    (select count(*) from ledger where seq > coalesce(latest.last_seq, 0) and seq <= last),
    chain_ledger(coalesce(latest.sha256, sha256('')), coalesce(latest.last_seq, 0), last), at
  ) returning * into made;
  return made;
end
$$;

-- Days whose entries are not those that were sealed. Reads the whole ledger.
create function broken_seals_v1() returns setof date language plpgsql stable as $$
declare
  seal ledger_seals;
  hash bytea := sha256('');
  reached bigint := 0;
begin
  for seal in select * from ledger_seals order by day loop
    hash := chain_ledger(hash, reached, seal.last_seq);
    reached := seal.last_seq;
    if hash <> seal.sha256 then
      return next seal.day;
      hash := seal.sha256;
    end if;
  end loop;
end
$$;
