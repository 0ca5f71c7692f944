-- The models that have an open hold which was to end long ago: it expires as soon as their stream is known to be settled
-- beyond its end.
--
-- In:  until (the present of the queue Redis).
-- Out: ids of models. A model without open holds costs nothing: the search goes from one model with open holds to the
--      next, and looks at the hold that ends first. It writes nothing.
create or replace function overdue_models(until timestamptz) returns setof text language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
declare
  hold record;
begin
  select r.model, r.expires_at into hold from reservations r where r.state = 'held'
  order by r.model, r.expires_at limit 1;
  while found loop
    if hold.expires_at < until - interval '30 seconds' then
      return next hold.model;
    end if;
    select r.model, r.expires_at into hold from reservations r where r.state = 'held' and r.model > hold.model
    order by r.model, r.expires_at limit 1;
  end loop;
end
$$;
