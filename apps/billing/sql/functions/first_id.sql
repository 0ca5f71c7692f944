-- The smallest UUIDv7 of a moment: ids that were made from it on are not below.
--
-- In:  moment.
-- Out: an id.
create or replace function first_id(moment timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
