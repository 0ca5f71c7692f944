-- Makes the partitions of this month and the next two, where they are missing.
--
-- In:  at (now).
-- Out: the names of the partitions that this call made.
--
-- One session at a time does this, and none while another session migrates; other calls return at once. Attaching a
-- partition of reservations, usage or timings locks their default partition exclusively for a moment. A call that waits
-- half a second for this lock fails and is rolled back. The next call tries again, and nothing is lost meanwhile
-- (0009-months.sql).
--
-- Rows of the month that are already in the default partition are moved, if they are at most 10,000. Moving more rows
-- would stop the money functions for long. So such a month stays in the default partition, as the months from before
-- there were partitions do.
--
-- Runs with its owner's rights, because the service role may not make tables.
create or replace function prepare_months(at timestamptz) returns text[] language plpgsql security definer
set lock_timeout = '500ms' as $$
declare
  movable constant integer := 10000;
  made text[] := '{}';
  month timestamptz;
  suffix text;
  part record;
  waiting bigint;
begin
  if not pg_try_advisory_xact_lock(7351001) then -- the lock of migrate.ts
    return made;
  end if;

  for further in 0..2 loop
    month := month_start(at, further);
    suffix := to_char(month at time zone 'UTC', 'YYYYMM');
    continue when first_id(month) < archived_before();

    for part in
      select t.base, t.key, format('%s_%s', t.base, suffix) as name, format('%s_default', t.base) as rest,
        first_id(month) as low, first_id(month_start(month, 1)) as high
      from (values ('reservations', 'id'), ('usage', 'reservation_id'), ('request_timings', 'reservation_id'))
        as t (base, key)
    loop
      continue when to_regclass(part.name) is not null;
      execute format('select count(*) from (select from %I where %I >= $1 and %2$I < $2 limit %s) r',
        part.rest, part.key, movable + 1) into waiting using part.low, part.high;
      continue when waiting > movable;
      execute format('create table %I (like %I including constraints)', part.name, part.base);
      execute format('lock table %I in access exclusive mode', part.rest);
      execute format('with moved as (delete from %I where %I >= $1 and %2$I < $2 returning *) insert into %I select * from moved',
        part.rest, part.key, part.name) using part.low, part.high;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        part.base, part.name, part.low, part.high);
      made := made || part.name;
    end loop;

    continue when to_regclass('ledger_' || suffix) is not null;
    execute format('create table %I (like ledger including constraints, unique (ref, kind))', 'ledger_' || suffix);
    execute format('alter table ledger attach partition %I for values from (%s) to (%s)',
      'ledger_' || suffix, first_seq(month), first_seq(month_start(month, 1)));
    -- The trigger of the whole ledger does not fire for a statement that names a partition.
    execute format('create trigger ledger_append_only before update or delete or truncate on %I
      for each statement execute function refuse_change()', 'ledger_' || suffix);
    made := made || ('ledger_' || suffix);
  end loop;
  return made;
end
$$;

-- The function makes its tables in the schema of the other tables. PostgreSQL searches pg_catalog before this schema in
-- any case.
do $$
begin
  execute format('alter function prepare_months set search_path = %I, pg_temp', current_schema());
end
$$;
