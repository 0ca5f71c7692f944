-- Seals everything that was posted until now, once a day.
--
-- In:  at (now).
-- Out: the day's seal, made by this call or before.
--
-- It runs with its owner's rights, because the service role may not write seals.
create or replace function seal_ledger(at timestamptz) returns ledger_seals language plpgsql security definer as $$
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
  last := ledger_horizon();

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

-- Fixes the search path, so that the function finds its owner's tables with any search path of its caller.
do $$
begin
  execute format('alter function seal_ledger set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
