-- Sets credits aside for a batch of generations.
--
-- In:  arrays of equal length, in order of arrival: ids, key_ids, models, inputs (estimated tokens), outputs (wanted
--      tokens), deadlines; grace (a hold lives until deadline + grace); at (now).
-- Out: one row per call, `ord` counting from 1. status:
--      granted               amount, granted_output, was_clamped and the three prices
--      insufficient-credits  available and held of the account
--      key-invalid           key unknown, revoked or expired, or its account closed
--      model-unknown         model unknown, disabled or without a price
--      conflict              id known with other parameters, or no longer held
--
-- The same call again gets the same answer. Calls of one account are answered in order of arrival.
create function reserve_v1(
  ids uuid[], key_ids uuid[], models text[], inputs integer[], outputs integer[], deadlines timestamptz[],
  grace interval, at timestamptz
) returns table (
  ord integer, status text, amount bigint, granted_output integer, was_clamped boolean,
  input_price bigint, cached_input_price bigint, output_price bigint, available bigint, held bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  calls integer := coalesce(array_length(ids, 1), 0);
  statuses text[] := array_fill(null::text, array[calls]);
  amounts bigint[] := array_fill(null::bigint, array[calls]);
  grants integer[] := array_fill(null::integer, array[calls]);
  clamps boolean[] := array_fill(null::boolean, array[calls]);
  prices bigint[] := array_fill(null::bigint, array[calls]); -- price version of each answer
  accounts_of uuid[] := array_fill(null::uuid, array[calls]);
  frees bigint[] := array_fill(null::bigint, array[calls]);
  helds bigint[] := array_fill(null::bigint, array[calls]);
  new_calls integer[] := '{}';
  lost_ids uuid[];
  call record;
  account uuid;
  free bigint;
  account_held bigint;
  most integer;
  granted integer;
  needed bigint;
begin
  perform 1 from accounts a
  where a.id in (select k.account_id from api_keys k where k.id = any (key_ids))
  order by a.id for no key update;

  for call in
    select c.ord::integer as n, c.id, c.key_id, c.model, c.input, c.output, c.deadline,
      k.account_id, a.posted, a.held,
      k.status = 'active' and a.status = 'active' and (k.expires_at is null or k.expires_at > at) as key_works,
      m.max_output, m.context_window,
      p.id as price_version, p.input_price, p.cached_input_price, p.output_price,
      r.state, r.amount as held_amount, r.granted_output, r.clamped, r.price_version as held_price_version,
      (r.key_id, r.model, r.input_tokens, r.wanted_output, r.deadline)
        = (c.key_id, c.model, c.input, c.output, c.deadline) as same_call
    from (
      select *, min(u.ord) over (partition by u.id) as first
      from unnest(ids, key_ids, models, inputs, outputs, deadlines) with ordinality
        as u (id, key_id, model, input, output, deadline, ord)
    ) c
    left join api_keys k on k.id = c.key_id
    left join accounts a on a.id = k.account_id
    left join models m on m.id = c.model and m.enabled
    left join lateral (
      select * from price_versions v where v.model = m.id and v.effective_from <= at
      order by v.effective_from desc limit 1
    ) p on true
    left join reservations r on r.id = c.id
    where c.ord = c.first -- of duplicates in the batch only the first is carried out
    order by k.account_id, c.ord
  loop
    if call.account_id is distinct from account then
      account := call.account_id;
      free := call.posted - call.held;
      account_held := call.held;
    end if;
    if call.state is not null then
      if call.state = 'held' and call.same_call then
        statuses[call.n] := 'granted';
        amounts[call.n] := call.held_amount;
        grants[call.n] := call.granted_output;
        clamps[call.n] := call.clamped;
        prices[call.n] := call.held_price_version;
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
    most := output_limit(call.output, call.max_output, call.context_window, call.input);
    granted := affordable_output(free, call.input, most, call.input_price, call.output_price);
    if granted is null then
      statuses[call.n] := 'insufficient-credits';
      frees[call.n] := free;
      helds[call.n] := account_held;
      continue;
    end if;
    needed := price_tokens(call.input, 0, granted, call.input_price, call.cached_input_price, call.output_price);
    free := free - needed;
    account_held := account_held + needed;
    statuses[call.n] := 'granted';
    amounts[call.n] := needed;
    grants[call.n] := granted;
    clamps[call.n] := granted < most;
    prices[call.n] := call.price_version;
    accounts_of[call.n] := account;
    new_calls := new_calls || call.n;
  end loop;

  -- An id that another replica wrote since (a tombstone, or the same id under another account's lock) is lost to it.
  with written as (
    insert into reservations (
      id, state, key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
      amount, clamped, expires_at, created_at
    )
    select ids[n], 'held', key_ids[n], models[n], inputs[n], outputs[n], deadlines[n], accounts_of[n], prices[n],
      grants[n], amounts[n], clamps[n], deadlines[n] + grace, at
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

  return query
  select c.ord::integer,
    case when not c.same_as_first or c.id = any (lost_ids) then 'conflict' else statuses[c.first] end,
    amounts[c.first], grants[c.first], clamps[c.first],
    p.input_price, p.cached_input_price, p.output_price, frees[c.first], helds[c.first]
  from (
    select f.ord, f.id, f.first,
      (key_ids[f.ord], models[f.ord], inputs[f.ord], outputs[f.ord], deadlines[f.ord])
        = (key_ids[f.first], models[f.first], inputs[f.first], outputs[f.first], deadlines[f.first]) as same_as_first
    from (
      select u.ord, u.id, min(u.ord) over (partition by u.id) as first
      from unnest(ids) with ordinality as u (id, ord)
    ) f
  ) c
  left join price_versions p on p.id = prices[c.first]
  order by c.ord;
end
$$;
