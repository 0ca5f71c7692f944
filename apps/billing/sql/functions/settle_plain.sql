-- Turns the ends of generations into their charges. This is the fast path of a batch of the most frequent settlements:
-- open holds that each pay the whole cost and count in no limit of their key, without failures that have usage. It settles
-- the whole batch or nothing.
--
-- In:  arrays of equal length, in order of arrival: ids, epochs, outcomes, prompts, cacheds (of the prompts),
--      completions (tokens), bys (the worker or other process that settled); at (now).
-- Out: the rows that `settle` returns for the batch, each with the result `charged`; no row: nothing is changed, and the
--      caller calls `settle`. Receipts are not needed: they count only if a hold does not pay the cost.
--
-- Raises unique_violation when a settlement is already in the books although its hold is open: nothing is changed, and
-- the caller calls `settle`.
--
-- Every change of a reservation is made under the lock of its account. So the holds are read by a statement that begins
-- after the locks. A statement that locks and reads could see holds that another transaction closed in between.
create or replace function settle_plain(
  ids uuid[], epochs integer[], outcomes text[], prompts integer[], cacheds integer[], completions integer[],
  bys text[], at timestamptz
) returns table (ord integer, result text, cost numeric, charged bigint) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  locked uuid[];
  low uuid := (select x from unnest(ids) as x order by x limit 1);
  high uuid := (select x from unnest(ids) as x order by x desc limit 1);
begin
  select array_agg(l.id) into locked from (
    select a.id from accounts a
    where a.id in (
      select r.account_id from unnest(ids) as u (id) cross join lateral reservation_of(u.id, low, high) r
    )
    order by a.id for no key update
  ) l;

  return query
  with priced as materialized (
    select e.ord::integer, r.id, r.account_id, r.key_id, r.model, r.price_version, r.amount, e.epoch, e.outcome,
      e.prompt, e.cached, e.completion, e.settled_by,
      case when e.outcome in ('completed', 'cancelled')
        then price_tokens(
          e.prompt - e.cached, e.cached, e.completion, p.input_price, p.cached_input_price, p.output_price)
        else 0 end as cost
    from unnest(ids, epochs, outcomes, prompts, cacheds, completions, bys) with ordinality
      as e (id, epoch, outcome, prompt, cached, completion, settled_by, ord)
    cross join lateral reservation_of(e.id, low, high) r
    join price_versions p on p.id = r.price_version
    where r.account_id = any (locked) and r.state = 'held' and r.budget_period is null and r.rate_minute is null
      and not (e.outcome = 'fault' and e.prompt + e.completion > 0) -- `settle` counts the free tokens
  ), plain as materialized (
    select * from priced where (select count(distinct id) from priced where cost <= amount) = cardinality(ids)
  ), used as (
    insert into usage (
      reservation_id, account_id, key_id, model, price_version, epoch, outcome, prompt_tokens, cached_tokens,
      completion_tokens, cost, charged, late, settled_by, settled_at
    )
    select n.id, n.account_id, n.key_id, n.model, n.price_version, n.epoch, n.outcome, n.prompt, n.cached,
      n.completion, n.cost, n.cost, false, n.settled_by, at
    from plain n
  ), posted as (
    insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
    select 'charge', n.id, n.account_id, s.id, n.cost, at
    from plain n join system_accounts s on s.name = 'revenue'
    where n.cost > 0
  ), paid as (
    update accounts a set posted = a.posted - s.cost, held = a.held - s.amount
    from (
      select account_id, sum(cost)::bigint as cost, sum(amount)::bigint as amount from plain group by account_id
    ) s
    where a.id = s.account_id
  ), closed as (
    update reservations r set state = 'settled', closed_at = at
    from plain n where r.id = n.id
  )
  select n.ord, 'charged', n.cost, n.cost::bigint from plain n order by n.ord;
end
$$;
