-- Returns the number up to which the ledger is complete: no entry with a lower number is still being written.
--
-- Out: a seq.
--
-- An entry takes its number before it is committed, so a lower number may appear after a higher one. A writer locks the
-- table before it takes a number, and keeps the lock until its commit. So this function waits for the transactions that
-- have the lock now, as a concurrent index build does. No writer waits for this function.
create or replace function ledger_horizon() returns bigint language plpgsql volatile as $$
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
