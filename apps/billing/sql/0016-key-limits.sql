-- What a key may do: which models, how much money in each period, how many requests and tokens a minute.
--
-- Both counters belong to one key and so to one account, and change only while that account's row is locked: they
-- need no lock of their own.

alter table api_keys
  drop constraint api_keys_status_check,
  add constraint api_keys_status_check check (status in ('active', 'disabled', 'revoked')),
  add column models text[], -- null: all
  add column spend_limit bigint check (spend_limit > 0),
  add column spend_period text check (spend_period in ('day', 'week', 'month', 'total')),
  add column requests_per_minute integer check (requests_per_minute > 0),
  add column tokens_per_minute bigint check (tokens_per_minute > 0),
  add column rotated_from uuid,
  add constraint spend_limit_has_a_period check (num_nulls(spend_limit, spend_period) in (0, 2));

-- What a key with a spend limit has spent and holds in one period. A hold stays with the period in which it was
-- made, so a period that ends meanwhile changes nothing for it.
create table key_budgets (
  key_id uuid not null,
  period_start timestamptz not null,
  held bigint not null default 0 check (held >= 0),
  spent bigint not null default 0 check (spent >= 0),
  primary key (key_id, period_start)
) with (fillfactor = 50);

-- What a key with a rate was granted in its latest minute.
create table key_rates (
  key_id uuid primary key,
  minute timestamptz not null,
  requests integer not null check (requests >= 0),
  tokens bigint not null check (tokens >= 0)
) with (fillfactor = 50);

-- Periods begin at midnight UTC, weeks on Monday. The total has one period.
create function period_start(period text, at timestamptz) returns timestamptz language sql stable parallel safe as $$
  select case period when 'total' then '-infinity'::timestamptz else date_trunc(period, at, 'UTC') end
$$;

alter table reservations
  -- The deadline is part of the fingerprint; this is how far it was moved. Null: not moved.
  add column extended_deadline timestamptz,
  add column budget_period timestamptz, -- null: no budget counts this hold
  add column rate_minute timestamptz, -- null: no rate counts it
  add column rate_tokens bigint; -- as counted in that minute
