-- The first moment of a month (UTC).
--
-- In:  moment, any of a month; further, the number of months after it.
-- Out: the moment.
create or replace function month_start(moment timestamptz, further integer) returns timestamptz
language sql immutable parallel safe as $$
  select (date_trunc('month', moment at time zone 'UTC') + make_interval(months => further)) at time zone 'UTC'
$$;
