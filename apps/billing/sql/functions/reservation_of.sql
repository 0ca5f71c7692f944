-- The reservation of an id, for the statements that look up a batch of them: `cross join lateral reservation_of(…)`.
--
-- In:  wanted (its id); low and high, the least and the greatest id of the batch, as variables of the calling function.
-- Out: the reservation, or no row.
--
-- PostgreSQL inlines it. By the two variables it leaves out, before it opens a month, those that have no rows of the
-- batch; by an id of the batch alone it would open each month that is kept, for each look-up. The limit keeps the plan:
-- without it, all rows between the two ids may be read where the month was small when the plan was made.
create or replace function reservation_of(wanted uuid, low uuid, high uuid) returns setof reservations
language sql stable rows 1 as $$
  select * from reservations r where r.id = wanted and r.id between low and high limit 1
$$;
