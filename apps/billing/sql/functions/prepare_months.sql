-- Makes the partitions of this month and the next two, where they are missing.
--
-- In:  at (now).
-- Out: the names of those that this call made.
--
-- One session at a time, and none while another migrates; the others return at once. Attaching a partition of
-- reservations, usage or timings needs a moment of their default partition for itself. It is given up after half a second and
-- rolled back: the next call tries again, and meanwhile nothing is lost, as 0009-months.sql says.
--
-- Rows of the month that are in the default partition already are moved, if they are few. If not, that would stop
-- money for long: the month stays in the default partition, as the months from before there were partitions do.
--
-- It runs with its owner's rights, because the service may not make tables.
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
    -- A trigger of the whole table does not see a statement that names the partition.
    execute format('create trigger ledger_append_only before update or delete or truncate on %I
      for each statement execute function refuse_change()', 'ledger_' || suffix);
    made := made || ('ledger_' || suffix);
  end loop;
  return made;
end
$$;

-- pg_catalog is searched first, and what is made is made in the schema of the tables.
do $$
begin
  execute format('alter function prepare_months set search_path = %I, pg_temp', current_schema());
end
$$;
