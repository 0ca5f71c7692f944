-- Replaces the amounts of held reservations by amounts for the input tokens that a worker has counted, once for each
-- reservation. The old amount is freed and the new amount set aside in one step, so that no other call can take the
-- credits in between.
--
-- In:  arrays of equal length, in order of arrival: ids, inputs (tokens, as a worker counted them), outputs (wanted
--      tokens), choices (as in reserve); at (now).
-- Out: one row per call, with the columns of reserve and the other fields of the reservation that its receipt needs. After
--      insufficient-credits and key-limit the old hold stays. conflict also means: not held, or already replaced by
--      other numbers.
--
-- A repeated call returns the same answer. The prices stay the reservation's. If the key has a rate, or had one when the
-- hold was made, the difference counts in the key's present minute. A full minute refuses nothing: the generation was
-- granted already.
drop function if exists replace(uuid[], integer[], integer[], timestamptz);

create or replace function replace(
  ids uuid[], inputs integer[], outputs integer[], at timestamptz, choices integer[] default null
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
  statuses text[] := array_fill(null::text, array[calls]);
  amounts bigint[] := array_fill(null::bigint, array[calls]);
  grants integer[] := array_fill(null::integer, array[calls]);
  clamps boolean[] := array_fill(null::boolean, array[calls]);
  frees bigint[] := array_fill(null::bigint, array[calls]);
  helds bigint[] := array_fill(null::bigint, array[calls]);
  -- The state of each budget after the calls so far, by the budget's number in the batch.
  key_frees bigint[] := '{}'; -- null: no limit
  key_helds bigint[] := '{}';
  replaced integer[] := '{}';
  rated_ids uuid[] := '{}';
  growths bigint[] := '{}';
  locked uuid[];
  call record;
  account uuid;
  free bigint;
  account_held bigint;
  affordable bigint;
  most integer;
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
    select c.ord::integer as n, c.input, c.output, coalesce(c.choice_count, 1) as choice_count,
      a.id as account_id, a.posted, a.held,
      k.status = 'active' and a.status = 'active' and (k.expires_at is null or k.expires_at > at) as key_works,
      k.spend_limit, b.key_id is not null as has_budget, b.held as period_held, b.spent,
      dense_rank() over (order by r.key_id, r.budget_period) as budget_number,
      m.max_output, m.context_window, p.input_price, p.cached_input_price, p.output_price,
      r.state, r.amount as held_amount, r.granted_output, r.clamped, r.exact_input is not null as replaced_before,
      (r.exact_input, r.exact_wanted) = (c.input, c.output) as same_call,
      num_nonnulls(k.requests_per_minute, k.tokens_per_minute, r.rate_minute) > 0 as rated,
      r.input_tokens::bigint + r.granted_output as counted
    from (
      select *, min(u.ord) over (partition by u.id) as first
      from unnest(ids, inputs, outputs, choices) with ordinality as u (id, input, output, choice_count, ord)
    ) c
    left join lateral reservation_of(c.id, low, high) r on true
    left join accounts a on a.id = r.account_id
    left join api_keys k on k.id = r.key_id
    left join key_budgets b on b.key_id = r.key_id and b.period_start = r.budget_period
    left join models m on m.id = r.model
    left join price_versions p on p.id = r.price_version
    where c.ord = c.first -- of duplicates in the batch only the first is carried out
    order by a.id, c.ord
  loop
    if call.account_id is distinct from account then
      account := call.account_id;
      free := call.posted - call.held;
      account_held := call.held;
      if account <> all (coalesce(locked, '{}')) then
        raise exception 'a reservation appeared while it was replaced' using errcode = 'serialization_failure';
      end if;
    end if;
    if call.has_budget and key_helds[call.budget_number] is null then
      key_frees[call.budget_number] := call.spend_limit - call.spent - call.period_held;
      key_helds[call.budget_number] := call.period_held;
    end if;
    if call.state is distinct from 'held' or (call.replaced_before and not call.same_call) then
      statuses[call.n] := 'conflict';
      continue;
    end if;
    if call.replaced_before then
      statuses[call.n] := 'granted';
      amounts[call.n] := call.held_amount;
      grants[call.n] := call.granted_output;
      clamps[call.n] := call.clamped;
      continue;
    end if;
    if call.key_works is not true then
      statuses[call.n] := 'key-invalid';
      continue;
    end if;
    most := output_limit(call.output, call.max_output, call.context_window, call.input, call.choice_count);
    affordable := least(free, key_frees[call.budget_number]) + call.held_amount;
    granted := affordable_output(affordable, call.input, most, call.input_price, call.output_price);
    if granted is null then
      if affordable < free + call.held_amount and affordable_output(
        free + call.held_amount, call.input, most, call.input_price, call.output_price) is not null then
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
    statuses[call.n] := 'granted';
    amounts[call.n] := needed;
    grants[call.n] := granted;
    clamps[call.n] := granted < most;
    replaced := replaced || call.n;
    if call.rated then
      rated_ids := rated_ids || ids[call.n];
      growths := growths || call.input + granted - call.counted;
    end if;
  end loop;

  update accounts a set held = a.held + d.difference
  from (
    select r.account_id, sum(amounts[n] - r.amount)::bigint as difference
    from unnest(replaced) as n cross join lateral reservation_of(ids[n], low, high) r
    group by r.account_id
  ) d
  where a.id = d.account_id;

  update key_budgets b set held = b.held + d.difference
  from (
    select r.key_id, r.budget_period, sum(amounts[n] - r.amount)::bigint as difference
    from unnest(replaced) as n cross join lateral reservation_of(ids[n], low, high) r
    where r.budget_period is not null
    group by r.key_id, r.budget_period
  ) d
  where b.key_id = d.key_id and b.period_start = d.budget_period;

  if rated_ids <> '{}' then
    perform count_growth(ids => rated_ids, tokens => growths, at => at);
  end if;

  update reservations r set
    amount = amounts[n], granted_output = grants[n], clamped = clamps[n],
    exact_input = inputs[n], exact_wanted = outputs[n]
  from unnest(replaced) as n
  where r.id = ids[n];

  return query
  select c.ord::integer, case when c.same_as_first then statuses[c.first] else 'conflict' end,
    amounts[c.first], grants[c.first], clamps[c.first],
    p.input_price, p.cached_input_price, p.output_price, frees[c.first], helds[c.first],
    r.account_id, r.price_version, r.key_id, r.model, coalesce(r.exact_input, r.input_tokens),
    coalesce(r.exact_wanted, r.wanted_output), coalesce(r.extended_deadline, r.deadline)
  from (
    select f.ord, f.id, f.first,
      (inputs[f.ord], outputs[f.ord]) = (inputs[f.first], outputs[f.first]) as same_as_first
    from (
      select u.ord, u.id, min(u.ord) over (partition by u.id) as first
      from unnest(ids) with ordinality as u (id, ord)
    ) f
  ) c
  left join lateral reservation_of(c.id, low, high) r on true
  left join price_versions p on p.id = r.price_version
  order by c.ord;
end
$$;
