-- Returns the lower bound of a moment's UUIDv7s: an id that is made at that moment or later is at least this bound.
--
-- In:  moment.
-- Out: an id.
create or replace function first_id(moment timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
