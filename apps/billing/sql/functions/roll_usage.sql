-- Sums up the usage of closed hours, the oldest first; see 0013-usage-hours.sql.
--
-- In:  at (now, by the clock of the database, as in the trigger for late rows).
-- Out: the number of hours with usage that this call summed up. Below 24: no closed hour is left, or another session is
--      summing up.
--
-- Runs with its owner's rights, because the service role may not write sums.
create or replace function roll_usage(at timestamptz) returns integer language plpgsql security definer
set enable_seqscan = off as $$
declare
  most constant integer := 24;
  closed constant timestamptz := date_trunc('hour', at - interval '30 minutes', 'UTC');
  reached timestamptz;
  begins timestamptz;
  rolled integer := 0;
begin
  select until into reached from usage_hours_end for update skip locked;
  if not found then
    return 0;
  end if;
  while rolled < most loop
    select date_trunc('hour', min(settled_at), 'UTC') into begins from usage
    where settled_at >= reached and settled_at < closed;
    exit when begins is null;
    insert into usage_hours
    select begins, account_id, key_id, model, count(*), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens),
      sum(cost), sum(charged)
    from usage where settled_at >= begins and settled_at < begins + interval '1 hour'
    group by account_id, key_id, model;
    reached := begins + interval '1 hour';
    rolled := rolled + 1;
  end loop;
  if rolled < most then
    reached := greatest(reached, closed);
  end if;
  update usage_hours_end set until = reached where until < reached;

  delete from usage_hours where hour < at - interval '400 days' and hour < (
    select month_start(max(month)::timestamp at time zone 'UTC', 1) from ledger_archives
  );
  return rolled;
end
$$;

do $$
begin
  execute format('alter function roll_usage set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
