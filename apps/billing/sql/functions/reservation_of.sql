-- Returns the reservation of an id, for statements that look up a batch of ids: `cross join lateral reservation_of(…)`.
--
-- In:  wanted (the id); low and high (the least and the greatest id of the batch, as variables of the calling function).
-- Out: the reservation, or no row.
--
-- PostgreSQL inlines this function. With low and high, PostgreSQL does not open the months that have no ids of the
-- batch. With the id alone, it would open every month of the database for each look-up. `limit 1` keeps the plan a
-- look-up by id: without it, a plan made while the month was small may read all rows between low and high.
create or replace function reservation_of(wanted uuid, low uuid, high uuid) returns setof reservations
language sql stable rows 1 as $$
  select * from reservations r where r.id = wanted and r.id between low and high limit 1
$$;
