-- Returns the lower bound of a moment's UUIDv7s: an id made at that moment or later is not below it.
--
-- In:  moment.
-- Out: an id.
create or replace function first_id(moment timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
