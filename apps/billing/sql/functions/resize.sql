-- Changes the amounts and deadlines of held reservations while their generations run, in two ways:
-- - A call with an input puts the input tokens that a worker has counted in the place of the gateway's estimate, once for
--   each reservation. The old amount is freed and the new amount set aside in one step, so that no other call can take
--   the credits in between.
-- - A call without an input lets the hold grow: a larger output, a later deadline. A smaller output or an earlier deadline
--   changes nothing. So these calls may be repeated and may overtake each other, and a repeated call never takes more.
--
-- In:  arrays of equal length, in order of arrival: ids (each once), inputs (tokens; null: let the hold grow), outputs
--      (wanted tokens in all, not the difference; 0 without an input: leave the amount), deadlines (null: leave it),
--      choices (as in reserve); grace (a hold lives until deadline + grace); at (now).
-- Out: one row per call, in any order, for the hold after the call. status:
--      granted               every column but available and held. was_clamped: the credits pay for fewer tokens than
--                            wanted
--      insufficient-credits  the account cannot pay the input with one token, or one more token: available and held of it
--      key-limit             the account could pay, but not within the key's spend limit: available and held of its period
--      key-rate              the key's minute is full, and the hold should grow
--      key-invalid           as in reserve
--      conflict              the reservation is not held, or has another counted input
--      After any answer but granted, amount and deadline stay as they were.
--
-- The prices stay the reservation's. If the key has a rate, or had one when the hold was made, the tokens by which the hold
-- grows count in the present minute. A full minute refuses no counted input: the generation was granted already.
create or replace function resize(
  ids uuid[], inputs integer[], outputs integer[], deadlines timestamptz[], choices integer[], grace interval,
  at timestamptz
) returns setof hold_answer language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  low uuid := (select x from unnest(ids) as x order by x limit 1);
  high uuid := (select x from unnest(ids) as x order by x desc limit 1);
  this_minute timestamptz := date_trunc('minute', at);
  -- The state of each budget after the calls so far, by the budget's number in the batch.
  key_frees bigint[] := '{}'; -- null: no limit
  key_helds bigint[] := '{}';
  key_tokens bigint[] := '{}'; -- tokens that each key was granted in its minute, by the key's number in the batch
  holds reservations[] := '{}'; -- the changed reservations, as they will be
  differences bigint[] := '{}'; -- between their amounts and the former ones
  rated_ids uuid[] := '{}';
  growths bigint[] := '{}';
  locked uuid[];
  call record;
  hold reservations;
  answer hold_answer;
  account uuid;
  free bigint;
  account_held bigint;
  former bigint; -- the hold's amount before the call
  input bigint;
  most integer;
  fewest integer; -- fewer output tokens are not granted
  granted integer;
  growth bigint; -- tokens
begin
  select array_agg(l.id) into locked from (
    select a.id from accounts a
    where a.id in (
      select r.account_id from unnest(ids) as u (id) cross join lateral reservation_of(u.id, low, high) r
    )
    order by a.id for no key update
  ) l;

  for call in
    select c.ord::integer, c.input, c.output, c.deadline, coalesce(c.choice_count, 1) as choice_count,
      r as hold, a.id as account_id, a.posted, a.held,
      k.status = 'active' and a.status = 'active' and (k.expires_at is null or k.expires_at > at) as key_works,
      num_nonnulls(k.requests_per_minute, k.tokens_per_minute, r.rate_minute) > 0 as rated, k.tokens_per_minute,
      coalesce(t.tokens, 0) as tokens, dense_rank() over (order by r.key_id) as key_number,
      k.spend_limit, b.key_id is not null as has_budget, b.held as period_held, b.spent,
      dense_rank() over (order by r.key_id, r.budget_period) as budget_number,
      m.max_output, m.context_window, p.input_price, p.cached_input_price, p.output_price
    from unnest(ids, inputs, outputs, deadlines, choices) with ordinality
      as c (id, input, output, deadline, choice_count, ord)
    left join lateral reservation_of(c.id, low, high) r on true
    left join accounts a on a.id = r.account_id
    left join api_keys k on k.id = r.key_id
    left join key_budgets b on b.key_id = r.key_id and b.period_start = r.budget_period
    left join key_rates t on t.key_id = r.key_id and t.minute >= this_minute
    left join models m on m.id = r.model
    left join price_versions p on p.id = r.price_version
    order by a.id, c.ord
  loop
    if call.account_id is distinct from account then
      account := call.account_id;
      free := call.posted - call.held;
      account_held := call.held;
      if account <> all (coalesce(locked, '{}')) then
        raise exception 'a reservation appeared while it was resized' using errcode = 'serialization_failure';
      end if;
    end if;
    if call.has_budget and key_helds[call.budget_number] is null then
      key_frees[call.budget_number] := call.spend_limit - call.spent - call.period_held;
      key_helds[call.budget_number] := call.period_held;
    end if;
    key_tokens[call.key_number] := coalesce(key_tokens[call.key_number], call.tokens);
    hold := call.hold;
    former := hold.amount;
    input := coalesce(call.input, hold.exact_input, hold.input_tokens);
    most := output_limit(call.output, call.max_output, call.context_window, input::integer, call.choice_count);
    fewest := case when call.input is null then hold.granted_output + 1 else 0 end;
    answer := null;
    answer.ord := call.ord;
    if hold.state is distinct from 'held' then
      answer.status := 'conflict';
    elsif call.input is not null and hold.exact_input is not null then
      answer.status := case when (hold.exact_input, hold.exact_wanted) = (call.input, call.output) then 'granted'
        else 'conflict' end;
    elsif call.key_works is not true then
      answer.status := 'key-invalid';
    elsif most < fewest then
      answer.status := 'granted';
    elsif call.input is null and key_tokens[call.key_number] >= call.tokens_per_minute then
      answer.status := 'key-rate';
    else
      granted := affordable_output(
        least(free, key_frees[call.budget_number]) + former, input, most, call.input_price, call.output_price);
      if granted >= fewest then
        answer.status := 'granted';
        growth := input + granted - coalesce(hold.exact_input, hold.input_tokens) - hold.granted_output;
        hold.amount := price_tokens(
          input, 0, granted, call.input_price, call.cached_input_price, call.output_price);
        hold.granted_output := granted;
        hold.clamped := granted < most;
        if call.input is not null then
          hold.exact_input := call.input;
          hold.exact_wanted := call.output;
        end if;
        free := free + former - hold.amount;
        account_held := account_held - former + hold.amount;
        key_frees[call.budget_number] := key_frees[call.budget_number] + former - hold.amount;
        key_helds[call.budget_number] := key_helds[call.budget_number] - former + hold.amount;
        if call.rated then
          key_tokens[call.key_number] := key_tokens[call.key_number]
            + case when growth > 0 or hold.rate_minute = this_minute then growth else 0 end;
          rated_ids := rated_ids || hold.id;
          growths := growths || growth;
        end if;
      elsif affordable_output(free + former, input, most, call.input_price, call.output_price) >= fewest then
        answer.status := 'key-limit';
        answer.available := greatest(key_frees[call.budget_number], 0);
        answer.held := key_helds[call.budget_number];
      else
        answer.status := 'insufficient-credits';
        answer.available := free;
        answer.held := account_held;
      end if;
    end if;
    if answer.status = 'granted' then
      hold.extended_deadline := greatest(hold.deadline, hold.extended_deadline, call.deadline);
      hold.expires_at := greatest(hold.expires_at, hold.extended_deadline + grace);
      holds := holds || hold;
      differences := differences || hold.amount - former;
      answer.amount := hold.amount;
      answer.granted_output := hold.granted_output;
      answer.was_clamped := hold.clamped;
      answer.input_price := call.input_price;
      answer.cached_input_price := call.cached_input_price;
      answer.output_price := call.output_price;
      answer.account_id := hold.account_id;
      answer.price_version := hold.price_version;
      answer.key_id := hold.key_id;
      answer.model := hold.model;
      answer.input_tokens := coalesce(hold.exact_input, hold.input_tokens);
      answer.wanted_output := coalesce(hold.exact_wanted, hold.wanted_output);
      answer.deadline := hold.extended_deadline;
    end if;
    return next answer;
  end loop;

  with budgeted as (
    update key_budgets b set held = b.held + d.difference
    from (
      select h.key_id, h.budget_period, sum(differences[h.ordinality])::bigint as difference
      from unnest(holds) with ordinality h where h.budget_period is not null
      group by h.key_id, h.budget_period
    ) d
    where b.key_id = d.key_id and b.period_start = d.budget_period and d.difference <> 0
  ), changed as (
    update reservations r set
      amount = h.amount, granted_output = h.granted_output, clamped = h.clamped, exact_input = h.exact_input,
      exact_wanted = h.exact_wanted, extended_deadline = h.extended_deadline, expires_at = h.expires_at
    from unnest(holds) h
    where r.id = h.id
  )
  update accounts a set held = a.held + d.difference
  from (
    select h.account_id, sum(differences[h.ordinality])::bigint as difference
    from unnest(holds) with ordinality h group by h.account_id
  ) d
  where a.id = d.account_id and d.difference <> 0;

  if rated_ids <> '{}' then
    perform count_growth(ids => rated_ids, tokens => growths, at => at);
  end if;
end
$$;
