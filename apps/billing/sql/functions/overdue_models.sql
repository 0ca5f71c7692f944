-- Returns the models with an open hold that is more than 30 s past its expires_at. `expire` frees such a hold once the
-- watermark of its model is more than 30 s past that time, too.
--
-- In:  until (now, by the clock of the queue Redis).
-- Out: ids of models. Writes nothing. The search goes from one model with open holds to the next, and reads the hold that
--      ends first. So a model without open holds costs nothing.
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
