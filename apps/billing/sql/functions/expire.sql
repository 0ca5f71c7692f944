-- Frees the holds of lost generations, for which no settlement came until long after the deadline.
--
-- In:  most (holds per model and call); at (now).
-- Out: one row: expired (number of holds), freed (sum of their amounts), more (true: more holds may be due, call again).
--
-- A hold may expire only when its model's settlement stream is known to be settled beyond expires_at + 30 s. If the
-- clock alone decided, settlements that wait while billing is down would find their holds gone and the credits spent.
--
-- Call it when `overdue_models` returns a model: only then does the watermark of an idle model move.
create or replace function expire(most integer, at timestamptz)
returns table (expired integer, freed numeric, more boolean)
language plpgsql
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  candidates uuid[];
begin
  select array_agg(c.id) into candidates
  from settlement_watermarks w
  cross join lateral (
    select r.id from reservations r
    where r.model = w.model and r.state = 'held' and r.expires_at < w.watermark - interval '30 seconds'
    order by r.expires_at limit most
  ) c;
  if candidates is null then
    return query select 0, 0::numeric, false;
    return;
  end if;

  perform 1 from accounts a
  where a.id in (select r.account_id from reservations r where r.id in (select unnest(candidates)))
  order by a.id for no key update;

  return query
  with gone as (
    -- A resize may have moved expires_at while this function waited for the account's lock.
    update reservations r set state = 'expired', closed_at = at
    from unnest(candidates) as c (id), settlement_watermarks w
    -- The condition is not "= 'held'", for the reason given in release.
    where r.id = c.id and r.state not in ('settled', 'released', 'expired')
      and w.model = r.model and r.expires_at < w.watermark - interval '30 seconds'
    returning r.account_id, r.key_id, r.amount, r.budget_period
  ), unbudgeted as (
    update key_budgets b set held = b.held - g.amount
    from (
      select key_id, budget_period, sum(amount)::bigint as amount from gone where budget_period is not null
      group by key_id, budget_period
    ) g
    where b.key_id = g.key_id and b.period_start = g.budget_period
  ), credited as (
    update accounts a set held = a.held - g.amount
    from (select account_id, sum(amount)::bigint as amount from gone group by account_id) g
    where a.id = g.account_id
  )
  select count(*)::integer, coalesce(sum(amount), 0), array_length(candidates, 1) >= most from gone;
end
$$;
