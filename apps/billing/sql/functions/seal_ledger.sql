-- Seals all entries posted until now, once a day. At the turn of a month it seals only the entries with numbers of the
-- old month.
--
-- In:  at (now).
-- Out: the day's seal, made by this call or an earlier call.
--
-- It also moves the ledger's numbering to the new month, once that month has its partition. Then it waits for the
-- writers that may have a number of the old month (ledger_horizon), so that no entry of the old month appears later. A
-- seal never goes beyond the numbers of one month. This holds also if an earlier call moved the numbering and then
-- failed, because a rollback does not move it back.
--
-- Runs with its owner's rights, because the service role may not write seals.
create or replace function seal_ledger(at timestamptz) returns ledger_seals language plpgsql security definer as $$
declare
  today date := (at at time zone 'UTC')::date;
  latest ledger_seals;
  sequence constant regclass := pg_get_serial_sequence('ledger', 'seq');
  reached bigint;
  last bigint;
  made ledger_seals;
begin
  lock table ledger_seals in exclusive mode;
  select * into latest from ledger_seals order by day desc limit 1;
  if latest.day >= today then
    return latest;
  end if;
  if coalesce(pg_sequence_last_value(sequence), 0) < first_seq(at)
    and to_regclass('ledger_' || to_char(at at time zone 'UTC', 'YYYYMM')) is not null then
    perform setval(sequence, first_seq(at));
  end if;

  reached := coalesce(latest.last_seq, 0);
  last := greatest(ledger_horizon(), reached);
  -- The seal ends within the month of the first new entry's number. Numbers below 10^17 are from before numbers had a
  -- month.
  select max(l.seq) into last from ledger l
  where l.seq > reached and l.seq <= last and l.seq < (
    select case when n.seq < 100000000000000000 then 100000000000000000
      else (n.seq / 1000000000000 + 1) * 1000000000000 end
    from ledger n where n.seq > reached order by n.seq limit 1
  );
  last := coalesce(last, reached);

  insert into sealed_balances as b (account, balance)
  select account, sum(amount) from (
    select credit_account as account, amount from ledger where seq > reached and seq <= last
    union all
    select debit_account, -amount from ledger where seq > reached and seq <= last
  ) e group by account
  on conflict (account) do update set balance = b.balance + excluded.balance;

  insert into ledger_seals values (
    today, reached + 1, last,
    (select count(*) from ledger where seq > reached and seq <= last),
    chain_ledger(coalesce(latest.sha256, sha256('')), reached, last), at
  ) returning * into made;
  return made;
end
$$;

-- Fixes the search path, so that the function finds its owner's tables with any search path of its caller.
do $$
begin
  execute format('alter function seal_ledger set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
