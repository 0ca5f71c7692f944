-- Counts the tokens by which holds have grown in the present minute of their keys.
--
-- In:  ids (of reservations), tokens (by how many each has grown; a negative number counts only in the minute of the
--      grant); at (now).
-- Out: nothing.
--
-- A reservation remembers the last minute in which its tokens counted, and how many did, because a settlement can
-- correct no earlier minute. Its answers stay counted in the minute of the grant. The caller has locked the accounts.
create or replace function count_growth(ids uuid[], tokens bigint[], at timestamptz) returns void language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  low uuid := (select x from unnest(ids) as x order by x limit 1);
  high uuid := (select x from unnest(ids) as x order by x desc limit 1);
  this_minute timestamptz := date_trunc('minute', at);
begin
  insert into key_rates (key_id, minute, requests, tokens)
  select distinct r.key_id, this_minute, 0, 0
  from unnest(ids, tokens) as u (id, tokens) cross join lateral reservation_of(u.id, low, high) r
  where u.tokens > 0 or r.rate_minute = this_minute
  order by r.key_id
  on conflict do nothing;

  update key_rates t set
    -- Another replica's clock may be ahead, and the row's minute with it.
    minute = greatest(t.minute, this_minute),
    requests = case when t.minute >= this_minute then t.requests else 0 end,
    tokens = greatest(case when t.minute >= this_minute then t.tokens else 0 end + g.tokens, 0)
  from (
    select r.key_id, sum(u.tokens)::bigint as tokens
    from unnest(ids, tokens) as u (id, tokens) cross join lateral reservation_of(u.id, low, high) r
    where u.tokens > 0 or r.rate_minute = this_minute
    group by r.key_id
  ) g
  where t.key_id = g.key_id;

  update reservations r set
    rate_minute = this_minute,
    rate_tokens = u.tokens + case when r.rate_minute = this_minute then r.rate_tokens else 0 end,
    rate_requests = case when r.rate_minute = this_minute then r.rate_requests else 0 end
  from unnest(ids, tokens) as u (id, tokens)
  where r.id = u.id and (u.tokens > 0 or r.rate_minute = this_minute);
end
$$;
