-- Removes the oldest month from the database.
--
-- In:  month (its first day); keep, as in archive_problem; files: a json object {ledger, usage, reservations}, each
--      {lines, sha256 (hexadecimal)} of a file that was written and read back; since: when the first file was compared
--      with the database; at (now).
-- Out: the new row of ledger_archives. Raises an exception when the month cannot be archived, or has changed after
--      `since`.
--
-- Detaches the month's partitions of the ledger, usage and reservations, and drops them. The remaining rows refer to
-- some rows of the month, so these facts stay: the sums of accounts and of keys' budgets, and the entries of top-ups
-- and adjustments. Requests that were settled after the month, or whose ledger entry has a number of a later month,
-- move to the default partition. Only requests that were in flight at the turn of the month are moved, so they are few.
-- So each day's usage is in the database completely or not at all.
--
-- Reads everything first. Then it locks the three tables exclusively, for milliseconds. It waits for these locks half a
-- second at a time, and lets the money functions run in between.
--
-- Runs with its owner's rights, because the service role may not delete rows or drop partitions.
create or replace function archive_month(month date, keep integer, files jsonb, since timestamptz, at timestamptz)
returns ledger_archives language plpgsql security definer
set lock_timeout = '500ms' as $$
declare
  suffix constant text := to_char(month, 'YYYYMM');
  ended constant timestamptz := month_start(month::timestamp at time zone 'UTC', 1);
  beyond constant bigint := first_seq(ended);
  problem constant text := archive_problem(month, keep, at);
  latest ledger_archives;
  last bigint;
  chain bytea;
  part text;
  made ledger_archives;
begin
  lock table ledger_seals in exclusive mode;
  if problem is not null then
    raise exception 'the month cannot be archived: %', problem;
  end if;
  select * into latest from ledger_archives a order by a.month desc limit 1;
  if latest.month >= month then
    raise exception 'the month, or a later one, is archived';
  end if;
  last := coalesce((select max(seq) from ledger where seq < beyond), latest.last_seq, 0);
  chain := coalesce((select sha256 from ledger_seals where last_seq = last order by day limit 1), latest.chain_after,
    sha256(''));
  if chain_ledger(coalesce(latest.chain_after, sha256('')), coalesce(latest.last_seq, 0), last) <> chain then
    raise exception 'the ledger of the month is not as it was sealed';
  end if;

  create temporary table gone_usage (id uuid primary key) on commit drop;
  create temporary table kept_requests (id uuid primary key) on commit drop;
  if to_regclass('usage_' || suffix) is not null then
    execute format('
      insert into kept_requests
      select u.reservation_id from %I u
      where u.settled_at >= $1 or (u.settled_at >= $1 - interval ''1 hour''
        and exists (select from ledger l where l.ref = u.reservation_id and l.seq >= $2))', 'usage_' || suffix)
      using ended, beyond;
    execute format('
      insert into gone_usage
      select reservation_id from %I u where not exists (select from kept_requests k where k.id = u.reservation_id)',
      'usage_' || suffix);
  end if;
  analyze gone_usage, kept_requests;

  insert into archived_balances as b (account, balance)
  select account, sum(amount) from (
    select credit_account as account, amount from ledger where seq < beyond
    union all
    select debit_account, -amount from ledger where seq < beyond
  ) e group by account
  on conflict (account) do update set balance = b.balance + excluded.balance;

  insert into archived_spending as s (key_id, period_start, spent)
  select u.key_id, r.budget_period, sum(u.charged)
  from gone_usage g join usage u on u.reservation_id = g.id join reservations r on r.id = g.id
  where r.budget_period is not null
  group by u.key_id, r.budget_period
  on conflict (key_id, period_start) do update set spent = s.spent + excluded.spent;

  insert into carried_entries
  select seq, kind, ref, debit_account, credit_account, amount, posted_at from ledger l
  where seq < beyond
    and (kind in ('topup', 'adjustment') or not exists (select from gone_usage g where g.id = l.ref));

  for attempt in 1..60 loop
    begin
      lock table only reservations, only usage, only ledger, reservations_default, usage_default
        in access exclusive mode;
      exit;
    exception when lock_not_available then
      if attempt = 60 then
        raise;
      end if;
      perform pg_sleep(0.5);
    end;
  end loop;
  if exists (select from reservations where id < first_id(ended) and id >= archived_before()
      and (state = 'held' or closed_at >= since - interval '1 minute'))
    or exists (select from usage where reservation_id < first_id(ended) and reservation_id >= archived_before()
      and settled_at >= since - interval '1 minute') then
    raise exception 'the month changed while it was archived' using errcode = 'serialization_failure';
  end if;
  perform set_config('millrace.moves_usage', 'on', true); -- the kept rows are inserted again; count them once
  foreach part in array array['reservations', 'usage'] loop
    continue when to_regclass(part || '_' || suffix) is null;
    execute format('alter table %I detach partition %I', part, part || '_' || suffix);
    execute format('insert into %I select * from %I where %I in (select id from kept_requests)',
      part, part || '_' || suffix, case part when 'usage' then 'reservation_id' else 'id' end);
    execute format('drop table %I', part || '_' || suffix);
  end loop;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ledger'::regclass and (c.relname = 'ledger_first' or c.relname <= 'ledger_' || suffix)
  loop
    execute format('alter table ledger detach partition %I', part);
    execute format('drop table %I', part);
  end loop;

  insert into ledger_archives values (
    month, coalesce(latest.last_seq, 0) + 1, last, coalesce(latest.chain_after, sha256('')), chain,
    (files -> 'ledger' ->> 'lines')::bigint, decode(files -> 'ledger' ->> 'sha256', 'hex'),
    (files -> 'usage' ->> 'lines')::bigint, decode(files -> 'usage' ->> 'sha256', 'hex'),
    (files -> 'reservations' ->> 'lines')::bigint, decode(files -> 'reservations' ->> 'sha256', 'hex'),
    hash_balances(), at
  ) returning * into made;
  return made;
end
$$;

-- Fixes the search path to the schema of the tables, so that the function finds them with any search path of its
-- caller. PostgreSQL searches pg_catalog before this schema in any case.
do $$
begin
  execute format('alter function archive_month set search_path = %I, pg_temp', current_schema());
end
$$;
