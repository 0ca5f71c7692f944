-- Sets credits aside for a batch of generations.
--
-- In:  arrays of equal length, in order of arrival: ids (each once), key_ids, models, inputs (estimated tokens), outputs
--      (wanted tokens), deadlines, expecteds (tokens that the output will probably need), minimums (the fewest tokens
--      that the call accepts, at most the expected ones), choices (how many answers to one input a call wants: its
--      numbers of output tokens are sums over all of them); grace (a hold lives until deadline + grace); at (now); known
--      (whether to look for reservations of these ids, which few calls have). If
--      expecteds and minimums, or elements of them, are null, the call wants all of its tokens at once, and accepts as
--      few as the credits pay for. If choices, or an element of it, is null, the call wants one answer.
-- Out: one row per call, in any order, or fewer (see below). status:
--      granted               every column but available and held. was_clamped: the credits pay for fewer tokens than the
--                            call expects
--      insufficient-credits  available and held of the account, which cannot pay the input and the minimum
--      key-limit             the account could pay, but not within the key's spend limit: available and held of its period
--      key-rate              the key's minute is full; there is room when the minute of `at` is over
--      key-invalid           key unknown, disabled, revoked or expired, or its account closed
--      model-unknown         model unknown, disabled, without a price, or not one of the key's models
--      conflict              id known with other parameters, or no longer held
--
-- A hold pays
-- - for all wanted tokens, if they cost at most an eighth of the available credits. So such a hold never has to grow.
-- - else for the expected tokens, if the credits pay for them. `resize` makes the hold larger while the generation runs.
-- - else for as many tokens as the credits pay for, but not for fewer than the minimum.
--
-- A repeated call returns the same answer, if `known` is true. Calls of one account are answered in order of arrival. A key's minute is
-- full once the granted tokens reach the limit, or if the answers of the call would exceed the limit of requests. So
-- the last grant of a minute may exceed the limit of tokens, and the first one the limit of requests: otherwise a call
-- larger than the limit would never be granted.
--
-- Fewer rows than calls, or unique_violation: nothing is changed, and the caller calls again with `known`. Either a call that
-- would be refused may be a repeated one, or one of the ids has a reservation. Looking for the ids in every call would take
-- a tenth more of the server's CPU time.
--
-- No overspend: the accounts' credits are read by a statement that begins after the accounts are locked. The account of
-- a key that was made in between is not locked. If two calls reserve from that account at once, the constraint of its
-- balance makes one of the calls fail.
create or replace function reserve(
  ids uuid[], key_ids uuid[], models text[], inputs integer[], outputs integer[], deadlines timestamptz[],
  grace interval, at timestamptz, expecteds integer[] default null, minimums integer[] default null,
  choices integer[] default null, known boolean default false
) returns setof hold_answer language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  -- Null, unless the ids may be known: then `reservation_of` opens no month.
  low uuid := case when known then (select x from unnest(ids) as x order by x limit 1) end;
  high uuid := case when known then (select x from unnest(ids) as x order by x desc limit 1) end;
  this_minute timestamptz := date_trunc('minute', at);
  -- The state of each key with limits after the calls so far, by the place of the key's first call.
  key_frees bigint[] := '{}'; -- null: no limit
  key_helds bigint[] := '{}';
  key_requests integer[] := '{}';
  key_tokens bigint[] := '{}';
  holds reservations[] := '{}';
  is_limited boolean := false;
  call record;
  hold reservations;
  answer hold_answer;
  account uuid;
  free bigint;
  account_held bigint;
  place integer;
  affordable bigint;
  most integer;
  target integer;
  enough integer;
begin
  perform 1 from accounts a
  where a.id in (select k.account_id from api_keys k where k.id = any (key_ids))
  order by a.id for no key update;

  for call in
    select c.ord::integer, c.id, c.key_id, c.model, c.input, c.output, c.deadline, c.expected, c.minimum,
      coalesce(c.choice_count, 1) as choice_count, a.id as account_id, a.posted, a.held,
      k.status = 'active' and a.status = 'active' and (k.expires_at is null or k.expires_at > at) as key_works,
      l.limited, l.rated, k.spend_limit, k.requests_per_minute, k.tokens_per_minute,
      period_start(k.spend_period, at) as period, coalesce(b.held, 0) as period_held, coalesce(b.spent, 0) as spent,
      coalesce(t.requests, 0) as requests, coalesce(t.tokens, 0) as tokens,
      m.max_output, m.context_window,
      p.id as price_version, p.input_price, p.cached_input_price, p.output_price,
      r.state, r.amount as held_amount, r.granted_output, r.clamped,
      (r.key_id, r.model, r.input_tokens, r.wanted_output, r.deadline)
        = (c.key_id, c.model, c.input, c.output, c.deadline) as same_call
    from unnest(ids, key_ids, models, inputs, outputs, deadlines, expecteds, minimums, choices) with ordinality
      as c (id, key_id, model, input, output, deadline, expected, minimum, choice_count, ord)
    left join api_keys k on k.id = c.key_id
    left join accounts a on a.id = k.account_id
    cross join lateral (
      select num_nonnulls(k.spend_limit, k.requests_per_minute, k.tokens_per_minute) > 0 as limited,
        num_nonnulls(k.requests_per_minute, k.tokens_per_minute) > 0 as rated
    ) l
    left join key_budgets b on b.key_id = k.id and b.period_start = period_start(k.spend_period, at)
    left join key_rates t on t.key_id = case when l.rated then k.id end and t.minute >= this_minute
    left join models m on m.id = c.model and m.enabled and (k.models is null or m.id = any (k.models))
    left join lateral reservation_of(c.id, low, high) r on true
    left join lateral (
      select * from price_versions v where v.model = coalesce(r.model, m.id) and v.effective_from <= coalesce(
        (select h.effective_from from price_versions h where h.id = r.price_version), at)
      order by v.effective_from desc limit 1
    ) p on true
    order by a.id, c.ord
  loop
    if call.account_id is distinct from account then
      account := call.account_id;
      free := call.posted - call.held;
      account_held := call.held;
    end if;
    if call.limited then
      place := array_position(key_ids, call.key_id);
      if key_tokens[place] is null then
        key_frees[place] := call.spend_limit - call.spent - call.period_held;
        key_helds[place] := call.period_held;
        key_requests[place] := call.requests;
        key_tokens[place] := call.tokens;
      end if;
    else
      place := 0; -- no key has this place
    end if;
    answer := null;
    answer.ord := call.ord;
    if call.state is not null then
      answer.status := case when call.state = 'held' and call.same_call then 'granted' else 'conflict' end;
      answer.amount := call.held_amount;
      answer.granted_output := call.granted_output;
      answer.was_clamped := call.clamped;
    elsif call.key_works is not true then
      answer.status := 'key-invalid';
    elsif call.price_version is null then
      answer.status := 'model-unknown';
    elsif key_requests[place] > 0 and key_requests[place] + call.choice_count > call.requests_per_minute
      or key_tokens[place] >= call.tokens_per_minute then
      answer.status := 'key-rate';
    else
      most := output_limit(call.output, call.max_output, call.context_window, call.input, call.choice_count);
      affordable := least(free, key_frees[place]);
      target := least(most, coalesce(call.expected, most));
      if target < most and affordable >= 8 * price_tokens(
        call.input, 0, most, call.input_price, call.cached_input_price, call.output_price) then
        target := most;
      end if;
      enough := least(target, coalesce(call.minimum, 0));
      answer.granted_output := affordable_output(
        affordable, call.input, target, call.input_price, call.output_price);
      if answer.granted_output >= enough then
        answer.status := 'granted';
        answer.amount := price_tokens(
          call.input, 0, answer.granted_output, call.input_price, call.cached_input_price, call.output_price);
        answer.was_clamped := answer.granted_output < target;
        free := free - answer.amount;
        account_held := account_held + answer.amount;
        if call.limited then
          is_limited := true;
          key_frees[place] := key_frees[place] - answer.amount;
          key_helds[place] := key_helds[place] + answer.amount;
          key_requests[place] := key_requests[place] + call.choice_count;
          key_tokens[place] := key_tokens[place] + call.input + answer.granted_output;
        end if;
        hold.id := call.id;
        hold.state := 'held';
        hold.key_id := call.key_id;
        hold.model := call.model;
        hold.input_tokens := call.input;
        hold.wanted_output := call.output;
        hold.deadline := call.deadline;
        hold.account_id := account;
        hold.price_version := call.price_version;
        hold.granted_output := answer.granted_output;
        hold.amount := answer.amount;
        hold.clamped := answer.was_clamped;
        hold.expires_at := call.deadline + grace;
        hold.created_at := at;
        hold.budget_period := call.period;
        hold.rate_minute := case when call.rated then this_minute end;
        hold.rate_tokens := case when call.rated then call.input::bigint + answer.granted_output end;
        hold.rate_requests := case when call.rated then call.choice_count end;
        holds := holds || hold;
      elsif affordable < free
        and affordable_output(free, call.input, target, call.input_price, call.output_price) >= enough then
        answer.status := 'key-limit';
        answer.available := greatest(affordable, 0);
        answer.held := key_helds[place];
      else
        answer.status := 'insufficient-credits';
        answer.available := free;
        answer.held := account_held;
      end if;
    end if;
    if answer.status = 'granted' then
      answer.input_price := call.input_price;
      answer.cached_input_price := call.cached_input_price;
      answer.output_price := call.output_price;
      answer.account_id := account;
      answer.price_version := call.price_version;
      answer.key_id := call.key_id;
      answer.model := call.model;
      answer.input_tokens := call.input;
      answer.wanted_output := call.output;
      answer.deadline := call.deadline;
    elsif not known then
      return; -- the call may be a repeated one, whose own hold is the reason for the refusal
    end if;
    return next answer;
  end loop;

  with written as (
    insert into reservations select h.* from unnest(holds) h order by h.id
  )
  update accounts a set held = a.held + h.amount
  from (select account_id, sum(amount)::bigint as amount from unnest(holds) group by account_id) h
  where a.id = h.account_id;

  if is_limited then
    with budgeted as (
      insert into key_budgets as b (key_id, period_start, held)
      select key_id, budget_period, sum(amount)::bigint from unnest(holds) where budget_period is not null
      group by key_id, budget_period
      on conflict (key_id, period_start) do update set held = b.held + excluded.held
    )
    insert into key_rates as t (key_id, minute, requests, tokens)
    select key_id, this_minute, sum(rate_requests)::integer, sum(rate_tokens)::bigint
    from unnest(holds) where rate_minute is not null group by key_id
    on conflict (key_id) do update set
      -- Another replica's clock may be ahead, and the row's minute with it.
      minute = greatest(t.minute, excluded.minute),
      requests = excluded.requests + case when t.minute >= excluded.minute then t.requests else 0 end,
      tokens = excluded.tokens + case when t.minute >= excluded.minute then t.tokens else 0 end;
  end if;
end
$$;
