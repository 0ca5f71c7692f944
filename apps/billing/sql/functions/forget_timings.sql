-- Deletes the timings of requests that were made more than 90 days ago: drops whole months, and deletes rows of the
-- default partition.
--
-- In:  at (now).
-- Out: the names of the partitions that this call dropped.
--
-- One session at a time does this, and none while another session migrates; other calls return at once. Dropping a
-- partition locks the whole table exclusively for a moment. A call that waits half a second for this lock fails, and
-- the next call tries again.
--
-- Runs with its owner's rights, because the service role may not drop tables.
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

-- The function drops tables in the schema of the other tables. PostgreSQL searches pg_catalog before this schema in any
-- case.
do $$
begin
  execute format('alter function forget_timings set search_path = %I, pg_temp', current_schema());
end
$$;
