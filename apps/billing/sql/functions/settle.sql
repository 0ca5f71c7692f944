-- Turns the ends of generations into charges. The first settlement of a reservation counts.
--
-- In:  arrays of equal length, in order of arrival: ids, epochs, outcomes, prompts, cacheds (of the prompts),
--      completions (tokens), bys (the worker or other process that settled); at (now); free_limit (how many tokens of an
--      account's failures an hour are free; null: all); receipts (null: not given; an element that is null: there is no
--      genuine receipt; otherwise a json object of the grant: accountId, keyId, model, inputTokens, outputTokens (wanted),
--      deadline, priceVersion, the prices inputPriceNano, cachedInputPriceNano and outputPriceNano, grantedTokens,
--      amountNano, clamped, expiresAt).
-- Out: no row: nothing is changed, and the caller calls again with receipts, because an entry needs its own. Most entries
--      need none: open holds that pay the whole cost. Otherwise one row per entry, `ord` counting from 1, with cost,
--      charged and result:
--      charged    the hold was open: charged = min(cost, hold), and the rest of the hold is freed. A receipt of a larger
--                 amount proves that a restore has lost an extension: the receipt's amount counts, as far as available
--      late       the hold had expired: charged = min(cost, amount of the former hold, available)
--      recovered  a restore has lost the reservation, but its receipt is genuine: charged as after an expired hold
--      released   the hold was released, yet the generation ran: usage recorded, nothing charged, an alarm
--      void       the hold was released, and nothing is to be paid
--      replayed   settled before with the same numbers: the stored charge
--      different  settled before with other numbers: the stored charge, and an alarm
--      unknown    never reserved, as far as database and receipt show: nothing charged, an alarm
-- The outcome never-ran costs nothing, whatever usage it carries. A fault costs nothing either, as long as the tokens of
-- the account's faults in this clock hour are at most `free_limit`. A fault that would exceed it is charged for its usage,
-- because a caller may know how to make its generations fail after it has the output. The part of a cost that is not
-- charged is written off: the ledger has an entry for it beside the charge.
--
-- A recovered charge counts in the budget of its key, if the key has a spend limit. It counts in the period of the
-- deadline, or in the present period if the deadline is still to come, because the period of the reservation is
-- unknown.
create or replace function settle(
  ids uuid[], epochs integer[], outcomes text[], prompts integer[], cacheds integer[], completions integer[],
  bys text[], at timestamptz, free_limit bigint default null, receipts jsonb[] default null
) returns table (ord integer, result text, cost numeric, charged bigint) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  entries integer := coalesce(array_length(ids, 1), 0);
  low uuid := (select x from unnest(ids) as x order by x limit 1);
  high uuid := (select x from unnest(ids) as x order by x desc limit 1);
  results text[] := array_fill(null::text, array[entries]); -- set for the entries that this call settles
  costs numeric[] := array_fill(null::numeric, array[entries]);
  charges bigint[] := array_fill(null::bigint, array[entries]);
  frees bigint[] := array_fill(0::bigint, array[entries]); -- tokens of faults that are free
  this_hour timestamptz := date_trunc('hour', at, 'UTC');
  settling integer[] := '{}';
  holds reservations[] := '{}'; -- the reservations of `settling`, as they were
  recovered uuid[];
  is_unpaid boolean := false;
  is_limited boolean := false;
  is_released boolean := false;
  locked uuid[];
  entry record;
  account uuid;
  posted bigint;
  held bigint;
  free bigint; -- tokens of the account's faults that were free in this hour
  paid boolean;
  this_minute timestamptz := date_trunc('minute', at);
begin
  select array_agg(l.id) into locked from (
    select a.id from accounts a
    where a.id in ( -- one subselect: two of them with `or` would read every account
      select r.account_id from unnest(ids) as e (id)
      cross join lateral reservation_of(e.id, low, high) r
      union select (x ->> 'accountId')::uuid from unnest(receipts) as x
    )
    order by a.id for no key update
  ) l;

  if receipts is not null then
    with forgotten as materialized (
      select u.id, u.x, u.ord
      from unnest(ids, receipts) with ordinality as u (id, x, ord)
      where (x ->> 'accountId')::uuid = any (locked)
        and u.id >= (select archived_before()) -- an older one may be settled in an archive
        and (select r.id from reservation_of(u.id, low, high) r) is null
    ), restored as (
      insert into reservations (
        id, state, key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
        amount, clamped, expires_at, created_at, closed_at, budget_period
      )
      select e.id, 'expired', (x ->> 'keyId')::uuid, x ->> 'model', (x ->> 'inputTokens')::integer,
        (x ->> 'outputTokens')::integer, (x ->> 'deadline')::timestamptz, (x ->> 'accountId')::uuid,
        e.price_version, (x ->> 'grantedTokens')::integer, (x ->> 'amountNano')::bigint,
        (x ->> 'clamped')::boolean, (x ->> 'expiresAt')::timestamptz, at, at,
        period_start(k.spend_period, least((x ->> 'deadline')::timestamptz, at))
      from (
        -- If an id has several receipts, the first receipt that names an account and a price of this database counts.
        select distinct on (f.id) f.id, f.x, v.id as price_version
        from forgotten f
        cross join lateral (
          select p.id from price_versions p
          where p.model = x ->> 'model' and is_price_of_receipt(x, p)
          order by p.id = (x ->> 'priceVersion')::bigint desc, p.id limit 1
        ) v
        order by f.id, f.ord
      ) e
      left join api_keys k on k.id = (x ->> 'keyId')::uuid and k.account_id = (x ->> 'accountId')::uuid
      order by e.id
      on conflict (id) do nothing
      returning id
    )
    select array_agg(id) into recovered from restored;

    if recovered is not null then
      insert into key_budgets (key_id, period_start)
      select distinct r.key_id, r.budget_period from reservations r
      where r.id = any (recovered) and r.budget_period is not null
      order by r.key_id, r.budget_period
      on conflict do nothing;
    end if;
  end if;

  for entry in
    select e.ord::integer as n, e.outcome, r as hold, r.account_id, a.posted, a.held, r.state, r.amount,
      r.budget_period is not null or r.rate_minute is not null as limited,
      case when a.free_hour = this_hour then a.free_tokens else 0 end as free_tokens,
      case when e.outcome = 'fault' then e.prompt::bigint + e.completion else 0 end as fault_tokens,
      price_tokens(e.prompt - e.cached, e.cached, e.completion, p.input_price, p.cached_input_price, p.output_price)
        as price,
      case when (e.receipt ->> 'accountId')::uuid = r.account_id and is_price_of_receipt(e.receipt, p)
        then (e.receipt ->> 'amountNano')::bigint else 0 end as signed_amount
    from (
      select *, min(x.ord) over (partition by x.id) as first
      from unnest(ids, outcomes, prompts, cacheds, completions, receipts) with ordinality
        as x (id, outcome, prompt, cached, completion, receipt, ord)
    ) e
    cross join lateral reservation_of(e.id, low, high) r
    join accounts a on a.id = r.account_id -- a tombstone has no account
    join price_versions p on p.id = r.price_version
    where e.ord = e.first -- duplicates in the batch are replays of the first
    and (
      select true from usage u where u.reservation_id = e.id and u.reservation_id between low and high limit 1
    ) is null
    order by r.account_id, e.ord
  loop
    if entry.account_id is distinct from account then
      account := entry.account_id;
      posted := entry.posted;
      held := entry.held;
      free := entry.free_tokens;
      if account <> all (coalesce(locked, '{}')) then
        raise exception 'a reservation appeared while it was settled' using errcode = 'serialization_failure';
      end if;
    end if;
    paid := entry.outcome in ('completed', 'cancelled');
    if entry.fault_tokens > 0 and entry.state in ('held', 'expired') then
      if free + entry.fault_tokens > free_limit then
        paid := true;
      else
        free := free + entry.fault_tokens;
        frees[entry.n] := entry.fault_tokens;
      end if;
    end if;
    costs[entry.n] := case when paid then entry.price else 0 end;
    if receipts is null and (entry.state = 'expired' or entry.state = 'held' and costs[entry.n] > entry.amount) then
      return;
    end if;
    if entry.state = 'held' then
      results[entry.n] := 'charged';
      held := held - entry.amount;
      charges[entry.n] := least(costs[entry.n], greatest(entry.amount, least(entry.signed_amount, posted - held)));
    elsif entry.state = 'expired' then
      results[entry.n] := case when ids[entry.n] = any (recovered) then 'recovered' else 'late' end;
      charges[entry.n] := least(costs[entry.n], greatest(entry.amount, entry.signed_amount), posted - held);
    else
      results[entry.n] := case when paid then 'released' else 'void' end;
      charges[entry.n] := 0;
      is_released := true;
    end if;
    posted := posted - charges[entry.n];
    is_unpaid := is_unpaid or costs[entry.n] > charges[entry.n];
    is_limited := is_limited or entry.limited;
    settling := settling || entry.n;
    holds := holds || entry.hold;
  end loop;

  if receipts is null and cardinality(settling) < entries and exists (
    select from unnest(ids) as e (id) where (select r.account_id from reservation_of(e.id, low, high) r) is null
  ) then
    return;
  end if;

  with settled as materialized (
    select settling[h.ordinality] as n, h.* from unnest(holds) with ordinality h
  ), used as (
    insert into usage (
      reservation_id, account_id, key_id, model, price_version, epoch, outcome, prompt_tokens, cached_tokens,
      completion_tokens, cost, charged, late, settled_by, settled_at
    )
    select r.id, r.account_id, r.key_id, r.model, r.price_version, epochs[n], outcomes[n], prompts[n], cacheds[n],
      completions[n], costs[n], charges[n], r.state = 'expired', bys[n], at
    from settled r
  ), posted as (
    insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
    select 'charge', r.id, r.account_id, s.id, charges[n], at
    from settled r, system_accounts s
    where charges[n] > 0 and s.name = 'revenue'
  ), paid as (
    update accounts a set posted = a.posted - s.charged, held = a.held - s.freed,
      free_tokens = case when s.free = 0 or a.free_hour = this_hour then a.free_tokens else 0 end + s.free,
      free_hour = case when s.free = 0 then a.free_hour else this_hour end
    from (
      select account_id, sum(charges[n])::bigint as charged,
        coalesce(sum(amount) filter (where state = 'held'), 0)::bigint as freed, sum(frees[n])::bigint as free
      from settled group by account_id
    ) s
    where a.id = s.account_id
  )
  update reservations r set state = 'settled', closed_at = at
  from settled s
  where r.id = s.id and s.state in ('held', 'expired');

  if is_unpaid then
    insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
    select 'write-off', ids[n], d.id, c.id, written_off(costs[n], charges[n]), at
    from unnest(settling) as n, system_accounts d, system_accounts c
    where costs[n] > charges[n] and d.name = 'write-offs' and c.name = 'revenue';
  end if;

  if is_limited then
    with settled as materialized (
      select settling[h.ordinality] as n, h.* from unnest(holds) with ordinality h
    ), budgeted as (
      update key_budgets b set held = b.held - s.freed, spent = b.spent + s.charged
      from (
        select key_id, budget_period, sum(charges[n])::bigint as charged,
          coalesce(sum(amount) filter (where state = 'held'), 0)::bigint as freed
        from settled where budget_period is not null group by key_id, budget_period
      ) s
      where b.key_id = s.key_id and b.period_start = s.budget_period
    )
    -- Unused tokens no longer count in the last minute in which the hold counted, as far as they counted in it. Earlier
    -- minutes are over. Tokens that were used although the hold did not count them (cheap input in place of dear output)
    -- count in the present minute. A release has already subtracted all of its tokens.
    update key_rates t set
      minute = case when s.more > 0 then greatest(t.minute, this_minute) else t.minute end,
      requests = case when s.more > 0 and t.minute < this_minute then 0 else t.requests end,
      tokens = s.more + case when s.more > 0 and t.minute < this_minute then 0 else greatest(t.tokens - s.unused, 0) end
    from (
      select k.key_id, sum(greatest(-u.unused, 0))::bigint as more,
        coalesce(sum(least(u.unused, rate_tokens)) filter (where u.unused > 0 and rate_minute = k.minute), 0)::bigint
          as unused
      from settled
      join key_rates k on k.key_id = settled.key_id
      cross join lateral (
        select coalesce(exact_input, input_tokens)::bigint + granted_output - prompts[n] - completions[n] as unused
      ) u
      where rate_minute is not null and state in ('held', 'expired')
      group by k.key_id
    ) s
    where t.key_id = s.key_id;
  end if;

  if cardinality(settling) = entries and not is_released then
    return query select n, results[n], costs[n], charges[n] from generate_series(1, entries) as n;
    return;
  end if;

  return query
  with answers as (
    select e.ord::integer, e.id, coalesce(u.cost, 0) as cost, coalesce(u.charged, 0) as charged,
      case
        when results[e.ord] is not null then results[e.ord]
        when u.reservation_id is null and r.id is not null and e.outcome in ('fault', 'never-ran') then 'void'
        when u.reservation_id is null then 'unknown'
        when (u.epoch, u.outcome, u.prompt_tokens, u.cached_tokens, u.completion_tokens)
          = (e.epoch, e.outcome, e.prompt, e.cached, e.completion) then 'replayed'
        else 'different'
      end as result
    from unnest(ids, epochs, outcomes, prompts, cacheds, completions) with ordinality
      as e (id, epoch, outcome, prompt, cached, completion, ord)
    left join lateral (
      select * from usage where usage.reservation_id = e.id and usage.reservation_id between low and high limit 1
    ) u on true
    left join lateral reservation_of(e.id, low, high) r on true
  ), alarms as (
    insert into settlement_alarms (
      reservation_id, kind, epoch, outcome, prompt_tokens, cached_tokens, completion_tokens, settled_by, seen_at
    )
    select n.id, n.result, epochs[n.ord], outcomes[n.ord], prompts[n.ord], cacheds[n.ord], completions[n.ord],
      bys[n.ord], at
    from answers n
    where n.result in ('different', 'released', 'unknown')
    on conflict do nothing
  )
  select n.ord, n.result, n.cost, n.charged from answers n order by n.ord;
end
$$;
