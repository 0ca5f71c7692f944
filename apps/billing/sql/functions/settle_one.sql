-- Turns the end of one generation into its charge. This is the fast path of the most frequent settlement: an open hold
-- that pays the whole cost and counts in no limit of its key, without a failure that has usage. Any other settlement is
-- left to `settle`.
--
-- In:  reservation (its id), epoch, outcome, prompt, cached (of the prompt), completion (tokens), settled_by (the worker
--      or other process that settled); at (now).
-- Out: the row that `settle` returns for a batch of this one entry, with the result `charged`; no row: nothing is changed,
--      and the caller calls `settle`. A receipt is not needed: it counts only if the hold does not pay the cost.
--
-- Raises unique_violation when the settlement is already in the books although the hold is open: nothing is changed,
-- and the caller calls `settle`.
--
-- Every change of a reservation is made under the lock of its account. So the hold is read by a statement that begins
-- after the lock. A statement that locks and reads could see a hold that another transaction closed in between.
create or replace function settle_one(
  reservation uuid, epoch integer, outcome text, prompt integer, cached integer, completion integer,
  settled_by text, at timestamptz
) returns table (ord integer, result text, cost numeric, charged bigint) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  locked uuid;
begin
  select a.id into locked from accounts a
  where a.id = (select r.account_id from reservations r where r.id = reservation)
  for no key update;

  return query
  with priced as (
    select r.id, r.account_id, r.key_id, r.model, r.price_version, r.amount,
      case when settle_one.outcome in ('completed', 'cancelled')
        then price_tokens(prompt - cached, cached, completion, p.input_price, p.cached_input_price, p.output_price)
        else 0 end as cost
    from reservations r join price_versions p on p.id = r.price_version
    where r.id = reservation and r.account_id = locked and r.state = 'held'
      and r.budget_period is null and r.rate_minute is null
      and not (settle_one.outcome = 'fault' and prompt + completion > 0) -- `settle` counts the free tokens
  ), plain as materialized (
    select * from priced where cost <= amount
  ), used as (
    insert into usage (
      reservation_id, account_id, key_id, model, price_version, epoch, outcome, prompt_tokens, cached_tokens,
      completion_tokens, cost, charged, late, settled_by, settled_at
    )
    select n.id, n.account_id, n.key_id, n.model, n.price_version, settle_one.epoch, settle_one.outcome, prompt, cached,
      completion, n.cost, n.cost, false, settle_one.settled_by, at
    from plain n
  ), posted as (
    insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
    select 'charge', n.id, n.account_id, s.id, n.cost, at
    from plain n join system_accounts s on s.name = 'revenue'
    where n.cost > 0
  ), paid as (
    update accounts a set posted = a.posted - n.cost, held = a.held - n.amount
    from plain n where a.id = n.account_id
  ), closed as (
    -- The id is compared with the argument as well, so that only the month of the id is opened.
    update reservations r set state = 'settled', closed_at = at
    from plain n where r.id = n.id and r.id = reservation
  )
  select 1, 'charged', n.cost, n.cost::bigint from plain n;
end
$$;
