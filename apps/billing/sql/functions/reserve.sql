-- Sets credits aside for a batch of generations.
--
-- In:  arrays of equal length, in order of arrival: ids, key_ids, models, inputs (estimated tokens), outputs (wanted
--      tokens), deadlines, expecteds (tokens that the output will probably need), minimums (the fewest tokens that the
--      call accepts, at most the expected ones), choices (how many answers to one input a call wants: its numbers of
--      output tokens are sums over all of them); grace (a hold lives until deadline + grace); at (now). If expecteds
--      and minimums, or elements of them, are null, the call wants all of its tokens at once, and accepts as few as the
--      credits pay for. If choices, or an element of it, is null, the call wants one answer.
-- Out: one row per call, `ord` counting from 1. status:
--      granted               amount, granted_output, was_clamped (the credits pay for fewer tokens than the call
--                            expects) and the three prices; account_id and price_version for the receipt
--      insufficient-credits  available and held of the account, which cannot pay the input and the minimum
--      key-limit             the account could pay, but not within the key's spend limit: available and held of its period
--      key-rate              the key's minute is full; there is room when the minute of `at` is over
--      key-invalid           key unknown, disabled, revoked or expired, or its account closed
--      model-unknown         model unknown, disabled, without a price, or not one of the key's models
--      conflict              id known with other parameters, or no longer held
--
-- A hold pays
-- - for all wanted tokens, if they cost at most an eighth of the available credits. So such a hold never has to grow.
-- - else for the expected tokens, if the credits pay for them. `extend` makes the hold larger while the generation
--   runs.
-- - else for as many tokens as the credits pay for, but not for fewer than the minimum.
--
-- A repeated call returns the same answer. Calls of one account are answered in order of arrival. A key's minute is
-- full once the granted tokens reach the limit, or if the answers of the call would exceed the limit of requests. So
-- the last grant of a minute may exceed the limit of tokens, and the first one the limit of requests: otherwise a call
-- larger than the limit would never be granted.
drop function if exists reserve(
  uuid[], uuid[], text[], integer[], integer[], timestamptz[], interval, timestamptz, integer[], integer[]
);

create or replace function reserve(
  ids uuid[], key_ids uuid[], models text[], inputs integer[], outputs integer[], deadlines timestamptz[],
  grace interval, at timestamptz, expecteds integer[] default null, minimums integer[] default null,
  choices integer[] default null
) returns table (
  ord integer, status text, amount bigint, granted_output integer, was_clamped boolean,
  input_price bigint, cached_input_price bigint, output_price bigint, available bigint, held bigint,
  account_id uuid, price_version bigint
) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  calls integer := coalesce(array_length(ids, 1), 0);
  low uuid := (select x from unnest(ids) as x order by x limit 1);
  high uuid := (select x from unnest(ids) as x order by x desc limit 1);
  statuses text[] := array_fill(null::text, array[calls]);
  amounts bigint[] := array_fill(null::bigint, array[calls]);
  grants integer[] := array_fill(null::integer, array[calls]);
  clamps boolean[] := array_fill(null::boolean, array[calls]);
  prices bigint[] := array_fill(null::bigint, array[calls]); -- price version of each answer
  accounts_of uuid[] := array_fill(null::uuid, array[calls]);
  frees bigint[] := array_fill(null::bigint, array[calls]);
  helds bigint[] := array_fill(null::bigint, array[calls]);
  periods timestamptz[] := array_fill(null::timestamptz, array[calls]);
  is_rated boolean[] := array_fill(false, array[calls]);
  this_minute timestamptz := date_trunc('minute', at);
  -- The state of each key after the calls so far, by the key's number in the batch.
  key_frees bigint[] := '{}'; -- null: no limit
  key_helds bigint[] := '{}';
  key_requests integer[] := '{}';
  key_tokens bigint[] := '{}';
  new_calls integer[] := '{}';
  firsts integer[] := array_fill(null::integer, array[calls]); -- for each duplicate, the first call of its id
  lost_ids uuid[];
  has_limits boolean := false;
  call record;
  account uuid;
  free bigint;
  account_held bigint;
  affordable bigint;
  most integer;
  target integer;
  enough integer;
  granted integer;
  needed bigint;
begin
  perform 1 from accounts a
  where a.id in (select k.account_id from api_keys k where k.id = any (key_ids))
  order by a.id for no key update;

  for call in
    select c.ord::integer as n, c.first::integer as first, c.id, c.key_id, c.model, c.input, c.output, c.deadline,
      c.expected, c.minimum, coalesce(c.choice_count, 1) as choice_count, k.account_id, a.posted, a.held,
      k.status = 'active' and a.status = 'active' and (k.expires_at is null or k.expires_at > at) as key_works,
      k.spend_limit, k.requests_per_minute, k.tokens_per_minute,
      period_start(k.spend_period, at) as period, coalesce(b.held, 0) as period_held, coalesce(b.spent, 0) as spent,
      coalesce(t.requests, 0) as requests, coalesce(t.tokens, 0) as tokens,
      c.key_number,
      m.max_output, m.context_window,
      p.id as price_version, p.input_price, p.cached_input_price, p.output_price,
      r.state, r.amount as held_amount, r.granted_output, r.clamped, r.price_version as held_price_version,
      (r.key_id, r.model, r.input_tokens, r.wanted_output, r.deadline)
        = (c.key_id, c.model, c.input, c.output, c.deadline) as same_call
    from (
      -- Keys are numbered before the joins. After them, the planner would read api_keys in the order of its index to
      -- sort.
      select *, min(u.ord) over (partition by u.id) as first, dense_rank() over (order by u.key_id) as key_number
      from unnest(ids, key_ids, models, inputs, outputs, deadlines, expecteds, minimums, choices) with ordinality
        as u (id, key_id, model, input, output, deadline, expected, minimum, choice_count, ord)
    ) c
    left join api_keys k on k.id = c.key_id
    left join accounts a on a.id = k.account_id
    left join key_budgets b on b.key_id = k.id and b.period_start = period_start(k.spend_period, at)
    left join key_rates t on t.key_id = k.id and t.minute >= this_minute
    left join models m on m.id = c.model and m.enabled and (k.models is null or m.id = any (k.models))
    left join lateral (
      select * from price_versions v where v.model = m.id and v.effective_from <= at
      order by v.effective_from desc limit 1
    ) p on true
    left join lateral reservation_of(c.id, low, high) r on true
    order by k.account_id, c.ord
  loop
    if call.account_id is distinct from account then
      account := call.account_id;
      free := call.posted - call.held;
      account_held := call.held;
    end if;
    if key_requests[call.key_number] is null then
      key_frees[call.key_number] := call.spend_limit - call.spent - call.period_held;
      key_helds[call.key_number] := call.period_held;
      key_requests[call.key_number] := call.requests;
      key_tokens[call.key_number] := call.tokens;
    end if;
    if call.first <> call.n then -- of duplicates in the batch only the first is carried out
      firsts[call.n] := call.first;
      continue;
    end if;
    if call.state is not null then
      if call.state = 'held' and call.same_call then
        statuses[call.n] := 'granted';
        amounts[call.n] := call.held_amount;
        grants[call.n] := call.granted_output;
        clamps[call.n] := call.clamped;
        prices[call.n] := call.held_price_version;
        accounts_of[call.n] := call.account_id;
      else
        statuses[call.n] := 'conflict';
      end if;
      continue;
    end if;
    if call.key_works is not true then
      statuses[call.n] := 'key-invalid';
      continue;
    end if;
    if call.price_version is null then
      statuses[call.n] := 'model-unknown';
      continue;
    end if;
    if key_requests[call.key_number] > 0
        and key_requests[call.key_number] + call.choice_count > call.requests_per_minute
      or key_tokens[call.key_number] >= call.tokens_per_minute then
      statuses[call.n] := 'key-rate';
      continue;
    end if;
    most := output_limit(call.output, call.max_output, call.context_window, call.input, call.choice_count);
    affordable := least(free, key_frees[call.key_number]);
    target := least(most, coalesce(call.expected, most));
    if target < most and affordable >= 8 * price_tokens(
      call.input, 0, most, call.input_price, call.cached_input_price, call.output_price) then
      target := most;
    end if;
    enough := least(target, coalesce(call.minimum, 0));
    granted := affordable_output(affordable, call.input, target, call.input_price, call.output_price);
    if granted is null or granted < enough then
      if affordable < free
        and affordable_output(free, call.input, target, call.input_price, call.output_price) >= enough then
        statuses[call.n] := 'key-limit';
        frees[call.n] := greatest(affordable, 0);
        helds[call.n] := key_helds[call.key_number];
      else
        statuses[call.n] := 'insufficient-credits';
        frees[call.n] := free;
        helds[call.n] := account_held;
      end if;
      continue;
    end if;
    needed := price_tokens(call.input, 0, granted, call.input_price, call.cached_input_price, call.output_price);
    free := free - needed;
    account_held := account_held + needed;
    key_frees[call.key_number] := key_frees[call.key_number] - needed;
    key_helds[call.key_number] := key_helds[call.key_number] + needed;
    key_requests[call.key_number] := key_requests[call.key_number] + call.choice_count;
    key_tokens[call.key_number] := key_tokens[call.key_number] + call.input + granted;
    if call.spend_limit is not null then
      periods[call.n] := call.period;
      has_limits := true;
    end if;
    if num_nonnulls(call.requests_per_minute, call.tokens_per_minute) > 0 then
      is_rated[call.n] := true;
      has_limits := true;
    end if;
    statuses[call.n] := 'granted';
    amounts[call.n] := needed;
    grants[call.n] := granted;
    clamps[call.n] := granted < target;
    prices[call.n] := call.price_version;
    accounts_of[call.n] := account;
    new_calls := new_calls || call.n;
  end loop;

  -- Ids that another replica has written meanwhile (a tombstone, or the same id of another account) are answered with
  -- conflict.
  with written as (
    insert into reservations (
      id, state, key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
      amount, clamped, expires_at, created_at, budget_period, rate_minute, rate_tokens, rate_requests
    )
    select ids[n], 'held', key_ids[n], models[n], inputs[n], outputs[n], deadlines[n], accounts_of[n], prices[n],
      grants[n], amounts[n], clamps[n], deadlines[n] + grace, at,
      periods[n], case when is_rated[n] then this_minute end,
      case when is_rated[n] then inputs[n]::bigint + grants[n] end, case when is_rated[n] then choices[n] end
    from unnest(new_calls) as n
    order by ids[n]
    on conflict (id) do nothing
    returning id, account_id, amount
  ), charged as (
    update accounts a set held = a.held + w.amount
    from (select account_id, sum(amount)::bigint as amount from written group by account_id) w
    where a.id = w.account_id
  )
  select array_agg(ids[n]) into lost_ids
  from unnest(new_calls) as n where ids[n] not in (select id from written);

  if has_limits then
    with written as (
      select key_ids[n] as key_id, amounts[n] as amount, periods[n] as period, is_rated[n] as rated,
        inputs[n]::bigint + grants[n] as tokens, coalesce(choices[n], 1) as answers
      from unnest(new_calls) as n where lost_ids is null or ids[n] <> all (lost_ids)
    ), budgeted as (
      insert into key_budgets as b (key_id, period_start, held)
      select key_id, period, sum(amount)::bigint from written where period is not null group by key_id, period
      on conflict (key_id, period_start) do update set held = b.held + excluded.held
    )
    insert into key_rates as t (key_id, minute, requests, tokens)
    select key_id, this_minute, sum(answers)::integer, sum(tokens)::bigint from written where rated group by key_id
    on conflict (key_id) do update set
      -- Another replica's clock may be ahead, and the row's minute with it.
      minute = greatest(t.minute, excluded.minute),
      requests = excluded.requests + case when t.minute >= excluded.minute then t.requests else 0 end,
      tokens = excluded.tokens + case when t.minute >= excluded.minute then t.tokens else 0 end;
  end if;

  return query
  select c.n,
    case
      when c.n <> c.first and (key_ids[c.n], models[c.n], inputs[c.n], outputs[c.n], deadlines[c.n])
        <> (key_ids[c.first], models[c.first], inputs[c.first], outputs[c.first], deadlines[c.first])
        or ids[c.n] = any (lost_ids)
      then 'conflict'
      else statuses[c.first]
    end,
    amounts[c.first], grants[c.first], clamps[c.first],
    p.input_price, p.cached_input_price, p.output_price, frees[c.first], helds[c.first],
    accounts_of[c.first], prices[c.first]
  from (select n, coalesce(firsts[n], n) as first from generate_series(1, calls) as n) c
  left join price_versions p on p.id = prices[c.first]
  order by c.n;
end
$$;
