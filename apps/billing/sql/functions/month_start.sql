-- Returns the first moment of a month (UTC).
--
-- In:  moment (any moment of a month); further (the number of months to go on from there).
-- Out: the first moment of the month reached.
create or replace function month_start(moment timestamptz, further integer) returns timestamptz
language sql immutable parallel safe as $$
  select (date_trunc('month', moment at time zone 'UTC') + make_interval(months => further)) at time zone 'UTC'
$$;
