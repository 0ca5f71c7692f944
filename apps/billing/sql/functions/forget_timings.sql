-- Deletes the timings of requests that were made more than 90 days ago: whole months, and rows without a month.
--
-- In:  at (now).
-- Out: the names of the partitions that this call dropped.
--
-- One session at a time, and none while another migrates; the others return at once. Dropping a partition needs a moment
-- of the table for itself. It is given up after half a second: the next call tries again.
--
-- It runs with its owner's rights, because the service may not drop tables.
create or replace function forget_timings(at timestamptz) returns text[] language plpgsql security definer
set lock_timeout = '500ms' as $$
declare
  at_once constant integer := 10000;
  kept_from constant timestamptz := at - interval '90 days';
  dropped text[] := '{}';
  part text;
begin
  if not pg_try_advisory_xact_lock(7351001) then -- the lock of migrate.ts
    return dropped;
  end if;
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'request_timings'::regclass
      and c.relname < 'request_timings_' || to_char(kept_from at time zone 'UTC', 'YYYYMM')
    order by c.relname
  loop
    execute format('drop table %I', part);
    dropped := dropped || part;
  end loop;
  delete from request_timings_default where reservation_id in (
    select reservation_id from request_timings_default where reservation_id < first_id(kept_from)
    order by reservation_id limit at_once);
  return dropped;
end
$$;

-- pg_catalog is searched first, and what is dropped is in the schema of the tables.
do $$
begin
  execute format('alter function forget_timings set search_path = %I, pg_temp', current_schema());
end
$$;
