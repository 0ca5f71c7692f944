-- The reservation of an id, for the statements that look up a batch of them: `cross join lateral reservation_of(…)`.
--
-- In:  wanted (its id); low and high, the least and the greatest id of the batch, as variables of the calling function.
-- Out: the reservation, or no row.
--
-- It becomes a part of the calling statement. The variables tell PostgreSQL, before it opens a month, that no other has
-- rows of the batch: a settlement takes a quarter of the time where two years of months are kept. The limit keeps the
-- plan: without it, all rows between the two ids may be read where the month was small when the plan was made.
create or replace function reservation_of(wanted uuid, low uuid, high uuid) returns setof reservations
language sql stable rows 1 as $$
  select * from reservations r where r.id = wanted and r.id between low and high limit 1
$$;
