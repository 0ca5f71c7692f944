-- Usage summed up by hour, so that a sum over a year does not read every request of it.
--
-- An hour (in UTC) is closed 30 minutes after its end. `roll_usage` sums up the closed hours; billing calls it every
-- minute. To read the usage of a range of whole hours, take `until` from usage_hours_end. Hours before `until` are
-- complete in usage_hours; usage settled at `until` or later is in usage alone. Two separate statements are right too,
-- because a closed hour does not change:
--
--   select … from usage_hours where hour >= :from and hour < least(:to, :until)
--   union all
--   select … from usage where settled_at >= greatest(:from, :until) and settled_at < :to
--
-- (The statement on usage also selects an account or a key, or bounds the id, so that it uses an index; see late_usage
-- in 0010-archives.sql.)
--
-- A closed hour does not change because a row of usage has the time of its settlement, and is committed soon after it:
-- a statement of the service ends within 5 s, and its time is taken just before it. Only a replica whose clock is
-- behind can write an older time. So a row that is inserted with a time of more than 15 minutes ago fires the trigger
-- below. In the settlement's transaction the trigger adds the row to its hour, if that hour is summed up. A row that
-- does not fire the trigger is missed only if it stays uncommitted for 15 minutes. Both limits are by the database's
-- clock. The question hours-differ-from-usage of the reconciliation compares the sums with their rows.
--
-- Hours stay when their month is archived, for at least 400 days.

create table usage_hours (
  hour timestamptz not null, -- the first moment of the hour
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null, -- a part of the prompt tokens
  completion_tokens bigint not null,
  cost numeric(40, 0) not null,
  charged numeric(40, 0) not null, -- cost - charged is written off
  primary key (hour, account_id, key_id, model)
);

-- The hours before `until` are summed up.
create table usage_hours_end (
  only_row boolean primary key default true check (only_row),
  until timestamptz not null
);
insert into usage_hours_end (until) values ('-infinity');

-- Waits for a roll_usage that is running: either that call sums up the new row, or this function reads the new `until`.
create function add_to_closed_hour() returns trigger language plpgsql security definer as $$
declare
  closed timestamptz;
begin
  if current_setting('millrace.moves_usage', true) = 'on' then -- archive_month inserts a counted row again
    return null;
  end if;
  select until into closed from usage_hours_end for share;
  if new.settled_at < closed then
    insert into usage_hours as h values (
      date_trunc('hour', new.settled_at, 'UTC'), new.account_id, new.key_id, new.model, 1, new.prompt_tokens,
      new.cached_tokens, new.completion_tokens, new.cost, new.charged
    )
    on conflict (hour, account_id, key_id, model) do update set
      requests = h.requests + 1,
      prompt_tokens = h.prompt_tokens + excluded.prompt_tokens,
      cached_tokens = h.cached_tokens + excluded.cached_tokens,
      completion_tokens = h.completion_tokens + excluded.completion_tokens,
      cost = h.cost + excluded.cost,
      charged = h.charged + excluded.charged;
  end if;
  return null;
end
$$;

-- The function runs with its owner's rights, because the service role may not change sums.
do $$
begin
  execute format('alter function add_to_closed_hour set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;

create trigger usage_of_closed_hour after insert on usage
  for each row when (new.settled_at < now() - interval '15 minutes')
  execute function add_to_closed_hour();
