-- Returns the start of the spending period that contains a time.
--
-- In:  period ('day', 'week', 'month', 'total'; null: no limit), at.
-- Out: midnight UTC; a week starts on Monday. 'total' is one period that began at -infinity. Null when period is null.
create or replace function period_start(period text, at timestamptz) returns timestamptz
language sql stable parallel safe as $$
  select case period when 'total' then '-infinity'::timestamptz else date_trunc(period, at, 'UTC') end
$$;
