-- Grows held reservations while their generations run: later deadlines, larger amounts.
--
-- In:  arrays of equal length: ids, outputs (wanted tokens in all, not the difference; 0: leave the amount),
--      deadlines (null: leave it), choices (as in reserve); grace (a hold lives until deadline + grace); at (now).
-- Out: one row per call, with the columns of replace, for the hold after the call. status:
--      granted               was_clamped: the credits pay for fewer tokens than wanted
--      insufficient-credits  the account cannot pay for one more token
--      key-limit             the account could pay for one more token, but not within the key's spend limit
--      key-rate              the key's minute is full
--      key-invalid           as in reserve
--      conflict              the reservation is not held
--      After any answer but granted, amount and deadline stay as they were.
--
-- A hold only grows: a smaller output or an earlier deadline changes nothing. Calls with the same id in one batch count
-- as one call with the largest output and the latest deadline. So calls may be repeated and may overtake each other,
-- and a repeated call never takes more. The input tokens are the worker's count if `replace` has recorded one, else the
-- gateway's estimate. The prices stay the reservation's. If the key has a rate, or had one when the hold was made, the
-- tokens by which the hold grows count in the present minute.
drop function if exists extend(uuid[], integer[], timestamptz[], interval, timestamptz);

create or replace function extend(
  ids uuid[], outputs integer[], deadlines timestamptz[], grace interval, at timestamptz,
  choices integer[] default null
) returns table (
  ord integer, status text, amount bigint, granted_output integer, was_clamped boolean,
  input_price bigint, cached_input_price bigint, output_price bigint, available bigint, held bigint,
  account_id uuid, price_version bigint, key_id uuid, model text, input_tokens integer, wanted_output integer,
  deadline timestamptz
) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  calls integer := coalesce(array_length(ids, 1), 0);
  low uuid := (select x from unnest(ids) as x order by x limit 1);
  high uuid := (select x from unnest(ids) as x order by x desc limit 1);
  statuses text[] := array_fill(null::text, array[calls]); -- set for the first call of each id
  amounts bigint[] := array_fill(null::bigint, array[calls]);
  grants integer[] := array_fill(null::integer, array[calls]);
  clamps boolean[] := array_fill(null::boolean, array[calls]);
  ends timestamptz[] := array_fill(null::timestamptz, array[calls]);
  frees bigint[] := array_fill(null::bigint, array[calls]);
  helds bigint[] := array_fill(null::bigint, array[calls]);
  -- The state of each budget after the calls so far, by the budget's number in the batch.
  key_frees bigint[] := '{}'; -- null: no limit
  key_helds bigint[] := '{}';
  extended integer[] := '{}';
  -- The tokens that each key was granted in its minute, by the key's number in the batch.
  key_tokens bigint[] := '{}';
  rated_ids uuid[] := '{}';
  growths bigint[] := '{}';
  this_minute timestamptz := date_trunc('minute', at);
  locked uuid[];
  call record;
  account uuid;
  free bigint;
  account_held bigint;
  affordable bigint;
  granted integer;
  needed bigint;
begin
  select array_agg(l.id) into locked from (
    select a.id from accounts a
    where a.id in (
      select r.account_id from unnest(ids) as u (id) cross join lateral reservation_of(u.id, low, high) r
    )
    order by a.id for no key update
  ) l;

  for call in
    select c.first::integer as n, c.deadline, a.id as account_id, a.posted, a.held,
      k.status = 'active' and a.status = 'active' and (k.expires_at is null or k.expires_at > at) as key_works,
      num_nonnulls(k.requests_per_minute, k.tokens_per_minute, r.rate_minute) > 0 as rated, k.tokens_per_minute,
      coalesce(t.tokens, 0) as tokens, dense_rank() over (order by r.key_id) as key_number,
      k.spend_limit, b.key_id is not null as has_budget, b.held as period_held, b.spent,
      dense_rank() over (order by r.key_id, r.budget_period) as budget_number,
      p.input_price, p.cached_input_price, p.output_price,
      r.state, r.amount as held_amount, r.granted_output, r.clamped,
      coalesce(r.extended_deadline, r.deadline) as held_deadline, coalesce(r.exact_input, r.input_tokens) as input,
      output_limit(c.output, m.max_output, m.context_window, coalesce(r.exact_input, r.input_tokens), c.choice_count)
        as most
    from (
      select u.id, min(u.ord) as first, max(u.output) as output, max(u.deadline) as deadline,
        coalesce(max(u.choice_count), 1) as choice_count
      from unnest(ids, outputs, deadlines, choices) with ordinality as u (id, output, deadline, choice_count, ord)
      group by u.id
    ) c
    left join lateral reservation_of(c.id, low, high) r on true
    left join accounts a on a.id = r.account_id
    left join api_keys k on k.id = r.key_id
    left join key_budgets b on b.key_id = r.key_id and b.period_start = r.budget_period
    left join key_rates t on t.key_id = r.key_id and t.minute >= this_minute
    left join models m on m.id = r.model
    left join price_versions p on p.id = r.price_version
    order by a.id, c.first
  loop
    if call.account_id is distinct from account then
      account := call.account_id;
      free := call.posted - call.held;
      account_held := call.held;
      if account <> all (coalesce(locked, '{}')) then
        raise exception 'a reservation appeared while it was extended' using errcode = 'serialization_failure';
      end if;
    end if;
    if call.has_budget and key_helds[call.budget_number] is null then
      key_frees[call.budget_number] := call.spend_limit - call.spent - call.period_held;
      key_helds[call.budget_number] := call.period_held;
    end if;
    if call.state is distinct from 'held' then
      statuses[call.n] := 'conflict';
      continue;
    end if;
    if call.key_works is not true then
      statuses[call.n] := 'key-invalid';
      continue;
    end if;
    granted := call.granted_output;
    needed := call.held_amount;
    key_tokens[call.key_number] := coalesce(key_tokens[call.key_number], call.tokens);
    if call.most > call.granted_output then
      if key_tokens[call.key_number] >= call.tokens_per_minute then
        statuses[call.n] := 'key-rate';
        continue;
      end if;
      affordable := least(free, key_frees[call.budget_number]) + call.held_amount;
      granted := affordable_output(affordable, call.input, call.most, call.input_price, call.output_price);
      if granted is null or granted <= call.granted_output then
        granted := affordable_output(
          free + call.held_amount, call.input, call.most, call.input_price, call.output_price);
        if granted > call.granted_output then
          statuses[call.n] := 'key-limit';
          frees[call.n] := greatest(key_frees[call.budget_number], 0);
          helds[call.n] := key_helds[call.budget_number];
        else
          statuses[call.n] := 'insufficient-credits';
          frees[call.n] := free;
          helds[call.n] := account_held;
        end if;
        continue;
      end if;
      needed := price_tokens(call.input, 0, granted, call.input_price, call.cached_input_price, call.output_price);
      free := free + call.held_amount - needed;
      account_held := account_held - call.held_amount + needed;
      key_frees[call.budget_number] := key_frees[call.budget_number] + call.held_amount - needed;
      key_helds[call.budget_number] := key_helds[call.budget_number] - call.held_amount + needed;
      if call.rated then
        key_tokens[call.key_number] := key_tokens[call.key_number] + granted - call.granted_output;
        rated_ids := rated_ids || ids[call.n];
        growths := growths || (granted - call.granted_output)::bigint;
      end if;
    end if;
    statuses[call.n] := 'granted';
    amounts[call.n] := needed;
    grants[call.n] := granted;
    clamps[call.n] := case when call.most > call.granted_output then granted < call.most else call.clamped end;
    ends[call.n] := greatest(call.held_deadline, call.deadline);
    extended := extended || call.n;
  end loop;

  update accounts a set held = a.held + d.difference
  from (
    select r.account_id, sum(amounts[n] - r.amount)::bigint as difference
    from unnest(extended) as n cross join lateral reservation_of(ids[n], low, high) r
    group by r.account_id
  ) d
  where a.id = d.account_id and d.difference <> 0;

  update key_budgets b set held = b.held + d.difference
  from (
    select r.key_id, r.budget_period, sum(amounts[n] - r.amount)::bigint as difference
    from unnest(extended) as n cross join lateral reservation_of(ids[n], low, high) r
    where r.budget_period is not null
    group by r.key_id, r.budget_period
  ) d
  where b.key_id = d.key_id and b.period_start = d.budget_period and d.difference <> 0;

  if rated_ids <> '{}' then
    perform count_growth(ids => rated_ids, tokens => growths, at => at);
  end if;

  update reservations r set
    amount = amounts[n], granted_output = grants[n], clamped = clamps[n],
    extended_deadline = ends[n], expires_at = greatest(r.expires_at, ends[n] + grace)
  from unnest(extended) as n
  where r.id = ids[n];

  return query
  select u.ord::integer, statuses[u.first], amounts[u.first], grants[u.first], clamps[u.first],
    p.input_price, p.cached_input_price, p.output_price, frees[u.first], helds[u.first],
    r.account_id, r.price_version, r.key_id, r.model, coalesce(r.exact_input, r.input_tokens),
    coalesce(r.exact_wanted, r.wanted_output), coalesce(r.extended_deadline, r.deadline)
  from (
    select x.id, x.ord, min(x.ord) over (partition by x.id) as first from unnest(ids) with ordinality as x (id, ord)
  ) u
  left join lateral reservation_of(u.id, low, high) r on true
  left join price_versions p on p.id = r.price_version
  order by u.ord;
end
$$;
