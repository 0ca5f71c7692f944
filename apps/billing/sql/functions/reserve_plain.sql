-- Sets credits aside for a batch of generations. This is the fast path of the most frequent calls: new ids of active
-- keys without limits, whose accounts can pay for all wanted tokens, with enough credits left that none of the holds has
-- to grow (`reserve`). A batch with any other call is answered by `reserve` as a whole.
--
-- In:  as in `reserve`.
-- Out: the rows that `reserve` returns for the batch.
--
-- Raises unique_violation when one of the ids has a reservation, or is in the batch twice: nothing is changed, and the
-- caller calls `reserve`. Repeated calls are rare, so looking for the ids in every batch would cost more.
--
-- No overspend: the accounts' credits are read by a statement that begins after the accounts are locked. The account of
-- a key that was made in between is not locked. If two calls reserve from that account at once, the constraint of its
-- balance makes one of the calls fail.
drop function if exists reserve_plain(
  uuid[], uuid[], text[], integer[], integer[], timestamptz[], interval, timestamptz, integer[], integer[]
);

create or replace function reserve_plain(
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
begin
  perform 1 from accounts a
  where a.id in (select k.account_id from api_keys k where k.id = any (key_ids))
  order by a.id for no key update;

  return query
  with known as materialized (
    select c.ord::integer, c.id, c.key_id, c.model, c.input, c.output, c.deadline, k.account_id, g.granted,
      p.id as price_version, p.input_price, p.cached_input_price, p.output_price,
      price_tokens(c.input, 0, g.granted, p.input_price, p.cached_input_price, p.output_price) as needed,
      c.expected < g.granted as may_roll
    from unnest(ids, key_ids, models, inputs, outputs, deadlines, expecteds, choices) with ordinality
      as c (id, key_id, model, input, output, deadline, expected, choice_count, ord)
    join api_keys k on k.id = c.key_id
    join models m on m.id = c.model and m.enabled and (k.models is null or m.id = any (k.models))
    cross join lateral (
      select output_limit(c.output, m.max_output, m.context_window, c.input, coalesce(c.choice_count, 1)) as granted
    ) g
    cross join lateral (
      select * from price_versions v where v.model = m.id and v.effective_from <= at
      order by v.effective_from desc limit 1
    ) p
    where k.status = 'active' and (k.expires_at is null or k.expires_at > at)
      and num_nonnulls(k.spend_limit, k.requests_per_minute, k.tokens_per_minute) = 0
  ), wanted as materialized (
    -- If the account has this rest left, each call costs at most an eighth of the credits that the calls before it
    -- leave.
    select account_id, sum(needed) as needed, coalesce(max(needed) filter (where may_roll), 0) * 7 as rest
    from known group by account_id
  ), plain as materialized (
    select * from known
    where (select count(*) from known) = cardinality(ids)
      and not exists (
        select from wanted w join accounts a on a.id = w.account_id
        where a.status <> 'active' or a.posted - a.held < w.needed + w.rest
      )
  ), paid as (
    update accounts a set held = a.held + w.needed
    from wanted w where a.id = w.account_id and exists (select from plain)
  ), written as (
    insert into reservations (
      id, state, key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
      amount, clamped, expires_at, created_at
    )
    select n.id, 'held', n.key_id, n.model, n.input, n.output, n.deadline, n.account_id, n.price_version, n.granted,
      n.needed, false, n.deadline + grace, at
    from plain n
    order by n.id
  )
  select n.ord, 'granted', n.needed::bigint, n.granted, false, n.input_price, n.cached_input_price, n.output_price,
    null::bigint, null::bigint, n.account_id, n.price_version
  from plain n
  order by n.ord;

  if not found then
    return query select * from reserve(
      ids => ids, key_ids => key_ids, models => models, inputs => inputs, outputs => outputs, deadlines => deadlines,
      grace => grace, at => at, expecteds => expecteds, minimums => minimums, choices => choices
    );
  end if;
end
$$;
