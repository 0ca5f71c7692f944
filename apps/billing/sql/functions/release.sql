-- Releases the holds of generations that were never enqueued.
--
-- In:  ids; at (now).
-- Out: one row per id. released:
--      true   no money is held for the id and none will be: it is released by this or an earlier call, or it was unknown,
--             and its new tombstone refuses a reserve that arrives later
--      false  the reservation was settled or had expired
--      null   another replica wrote the id at this moment: call again
create or replace function release(ids uuid[], at timestamptz) returns table (id uuid, released boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  low uuid := (select x from unnest(ids) as x order by x limit 1);
  high uuid := (select x from unnest(ids) as x order by x desc limit 1);
  locked uuid[];
begin
  select array_agg(l.id) into locked from (
    select a.id from accounts a
    where a.id in (
      select r.account_id from unnest(ids) as u (id) cross join lateral reservation_of(u.id, low, high) r
    )
    order by a.id for no key update
  ) l;

  with gone as (
    update reservations r set state = 'released', closed_at = at
    from unnest(ids) as u (id)
    -- A reservation that was written after the locks were taken may belong to an account that is not locked. Such an id
    -- gets null, and the caller repeats the call. The condition is not "= 'held'", because then the planner would read
    -- the index of all open holds instead of the one partition of each id.
    where r.id = u.id and r.state not in ('settled', 'released', 'expired') and r.account_id = any (locked)
    returning r.account_id, r.key_id, r.amount, r.budget_period, r.rate_minute, r.rate_tokens,
      coalesce(r.rate_requests, 1) as answers
  ), unbudgeted as (
    update key_budgets b set held = b.held - g.amount
    from (
      select key_id, budget_period, sum(amount)::bigint as amount from gone where budget_period is not null
      group by key_id, budget_period
    ) g
    where b.key_id = g.key_id and b.period_start = g.budget_period
  ), unrated as (
    -- A generation that never ran does not count in the key's minute.
    update key_rates t set requests = greatest(t.requests - g.requests, 0), tokens = greatest(t.tokens - g.tokens, 0)
    from (
      select key_id, rate_minute, sum(answers)::integer as requests, sum(rate_tokens)::bigint as tokens
      from gone where rate_minute is not null group by key_id, rate_minute
    ) g
    where t.key_id = g.key_id and t.minute = g.rate_minute
  )
  update accounts a set held = a.held - g.amount
  from (select account_id, sum(amount)::bigint as amount from gone group by account_id) g
  where a.id = g.account_id;

  insert into reservations (id, state, created_at, closed_at)
  select distinct u.id, 'released', at, at from unnest(ids) as u (id)
  where (select r.id from reservation_of(u.id, low, high) r) is null
  order by u.id
  on conflict (id) do nothing;

  return query
  select u.id, case r.state when 'released' then true when 'held' then null else false end
  from unnest(ids) as u (id) left join lateral reservation_of(u.id, low, high) r on true;
end
$$;
