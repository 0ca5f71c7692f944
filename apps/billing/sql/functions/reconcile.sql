-- Counts the rows that contradict each question of the reconciliation, over the whole database.
--
-- In:  whole: true checks all entries and the seals; false begins with the balances of the newest seal, and checks the
--      entries after it. If months are archived, the first entry is the first entry after them. Their balances are
--      carried, and the question archive-broken checks that the carried balances equal the archived balances.
-- Out: one row per question: name, and count, the number of rows that contradict it. Every count must be 0.
--
-- The start is in variables, and each call makes its own plan. So the planner knows how few rows an incremental call
-- compares, and looks these up in the other tables; without, it reads all tables whole.
create or replace function reconcile(whole boolean) returns table (name text, count bigint) language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off as $$ -- JIT would compile one scan for each partition and question, for seconds.
#variable_conflict use_column
declare
  after_seq bigint;
  since timestamptz;
begin
  select coalesce(max(last_seq), 0), coalesce(max(sealed_at) - interval '1 hour', '-infinity') into after_seq, since
  from ledger_seals where not whole;

  return query
  with recent_ledger as (
    select l.* from ledger l where l.seq > after_seq
  ), all_entries as not materialized (
    select ref, kind, debit_account, credit_account, amount from ledger
    union all
    select ref, kind, debit_account, credit_account, amount from carried_entries
  ), movements as (
    select ref, kind, debit_account, credit_account, amount from recent_ledger where kind in ('topup', 'adjustment')
    union all
    select ref, kind, debit_account, credit_account, amount from carried_entries
    where whole and kind in ('topup', 'adjustment')
  ), recent_usage as (
    -- Begins an hour before the seal: settlements of that hour may have been committed after the seal.
    select u.* from usage u where u.settled_at >= since
  ), moved as (
    select account, sum(amount) as amount from (
      select account, balance as amount from sealed_balances where not whole
      union all
      select account, balance from archived_balances where whole
      union all
      select credit_account, amount from recent_ledger
      union all
      select debit_account, -amount from recent_ledger
    ) e group by account
  ), closed_hours as (
    -- Hours whose usage is completely in recent_usage. The rows of archived months are gone.
    select greatest(date_trunc('hour', since, 'UTC') + interval '1 hour', a.ended) as first, e.until
    from usage_hours_end e, (
      select coalesce(month_start(max(month)::timestamp at time zone 'UTC', 1), '-infinity') as ended
      from ledger_archives
    ) a
  ), open_holds as (
    select account_id, sum(amount) as amount from reservations where state = 'held' group by account_id
  ), open_budgets as (
    select key_id, budget_period, sum(amount) as amount from reservations
    where state = 'held' and budget_period is not null group by key_id, budget_period
  )
  select 'posted-differs-from-ledger', count(*)
  from accounts a left join moved m on m.account = a.id
  where a.posted <> coalesce(m.amount, 0)
  union all
  select 'held-differs-from-open-holds', count(*)
  from accounts a left join open_holds h on h.account_id = a.id
  where a.held <> coalesce(h.amount, 0)
  union all
  select 'budget-differs-from-open-holds', count(*)
  from key_budgets b full join open_budgets o on o.key_id = b.key_id and o.budget_period = b.period_start
  where coalesce(b.held, 0) <> coalesce(o.amount, 0)
  union all
  select 'budget-differs-from-usage', count(*)
  from key_budgets b
  where (whole or b.key_id in (select key_id from recent_usage)) and b.spent - b.counted <> (
    select coalesce(sum(u.charged), 0) from usage u join reservations r on r.id = u.reservation_id
    where u.key_id = b.key_id and r.budget_period = b.period_start
  ) + coalesce((
    select s.spent from archived_spending s where s.key_id = b.key_id and s.period_start = b.period_start
  ), 0)
  union all
  select 'settled-without-usage', count(*)
  from reservations r
  where r.state = 'settled' and r.closed_at >= since
    and not exists (select from usage u where u.reservation_id = r.id)
  union all
  select 'usage-differs-from-ledger', count(*)
  from recent_usage u left join all_entries l on l.ref = u.reservation_id and l.kind = 'charge'
  where u.charged <> coalesce(l.amount, 0) or u.account_id <> l.debit_account
  union all
  select 'usage-differs-from-write-off', count(*)
  from recent_usage u left join all_entries l on l.ref = u.reservation_id and l.kind = 'write-off'
  where written_off(u.cost, u.charged) <> coalesce(l.amount, 0)
  union all
  select 'ledger-without-usage', count(*)
  from recent_ledger l
  where l.kind in ('charge', 'write-off') and not exists (select from usage u where u.reservation_id = l.ref)
  union all
  select 'usage-on-open-hold', count(*)
  from recent_usage u join reservations r on r.id = u.reservation_id
  where r.state in ('held', 'expired')
  union all
  select 'usage-without-reservation', count(*)
  from recent_usage u left join reservations r on r.id = u.reservation_id
  where r.account_id is distinct from u.account_id or r.price_version is distinct from u.price_version
  union all
  select 'negative-available', count(*) from accounts where posted - held < 0 or held < 0
  union all
  -- The sweeper frees overdue holds within seconds; five minutes are for catching up after an outage.
  select 'hold-overdue', count(*)
  from reservations r join settlement_watermarks w on w.model = r.model
  where r.state = 'held' and r.expires_at < w.watermark - interval '5 minutes 30 seconds'
  union all
  select 'cost-differs-from-price', count(*)
  from recent_usage u left join price_versions p on p.id = u.price_version
  where u.cost is distinct from case
    when u.outcome in ('completed', 'cancelled') then price_tokens(
      u.prompt_tokens - u.cached_tokens, u.cached_tokens, u.completion_tokens,
      p.input_price, p.cached_input_price, p.output_price)
    else 0
  end
  -- A fault costs nothing, or its price if the account's failures of the hour had used up their free tokens.
  and not (u.outcome = 'fault' and u.cost = price_tokens(
    u.prompt_tokens - u.cached_tokens, u.cached_tokens, u.completion_tokens,
    p.input_price, p.cached_input_price, p.output_price))
  union all
  select 'topup-differs-from-ledger', count(*)
  from topups t full join (select * from movements where kind = 'topup') l on l.ref = t.id
  where (l.ref is not null or whole)
    and (t.amount is distinct from l.amount or t.account_id is distinct from l.credit_account)
  union all
  select 'adjustment-differs-from-ledger', count(*)
  from adjustments t full join (select * from movements where kind = 'adjustment') l on l.ref = t.id
  where (l.ref is not null or whole)
    and (abs(t.amount) is distinct from l.amount
      or t.account_id is distinct from case when t.amount > 0 then l.credit_account else l.debit_account end)
  union all
  select 'ledger-of-unknown-account', count(*)
  from moved m
  where not exists (select from accounts a where a.id = m.account)
    and not exists (select from system_accounts s where s.id = m.account)
  union all
  select 'hours-differ-from-usage', count(*)
  from (select h.* from usage_hours h, closed_hours c where h.hour >= c.first and h.hour < c.until) h
  full join (
    select date_trunc('hour', u.settled_at, 'UTC') as hour, u.account_id, u.key_id, u.model, count(*) as requests,
      sum(u.prompt_tokens) as prompt, sum(u.cached_tokens) as cached, sum(u.completion_tokens) as completion,
      sum(u.cost) as cost, sum(u.charged) as charged
    from recent_usage u, closed_hours c where u.settled_at >= c.first and u.settled_at < c.until
    group by 1, 2, 3, 4
  ) u using (hour, account_id, key_id, model)
  where (h.requests, h.prompt_tokens, h.cached_tokens, h.completion_tokens, h.cost, h.charged)
    is distinct from (u.requests, u.prompt, u.cached, u.completion, u.cost, u.charged)
  union all
  select 'archive-broken', count(*) from broken_archives()
  union all
  select 'seal-broken', count(*) from broken_seals() where whole;
end
$$;
