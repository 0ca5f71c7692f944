-- Returns the id at which the archived months end.
--
-- Out: the smallest id of the first month after the archived months; while no month is archived, the smallest of all
--      ids.
create or replace function archived_before() returns uuid language sql stable parallel safe as $$
  select coalesce(
    (select first_id(month_start(max(month)::timestamp at time zone 'UTC', 1)) from ledger_archives),
    '00000000-0000-0000-0000-000000000000')
$$;
