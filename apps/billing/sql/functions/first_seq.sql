-- Returns the number just below a month's first ledger entry.
--
-- In:  moment (any moment of the month, UTC).
-- Out: a seq: YYYYMM * 10^12.
create or replace function first_seq(moment timestamptz) returns bigint language sql immutable parallel safe as $$
  select to_char(moment at time zone 'UTC', 'YYYYMM')::bigint * 1000000000000
$$;
