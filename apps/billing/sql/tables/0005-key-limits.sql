-- Use of keys with limits: money per period, requests and tokens per minute.
--
-- A row belongs to one key and so to one account. It changes only while the account's row is locked, so it needs no
-- lock of its own.

-- Spent and held money of a key with a spend limit in one period. A hold stays with the period in which it was made,
-- also when it is settled after the period's end. Periods of two kinds that begin at the same moment have one row: what
-- was spent in the shorter period was spent in the longer period too, and `count_period` adds what is missing.
create table key_budgets (
  key_id uuid not null,
  period_start timestamptz not null,
  held bigint not null default 0 check (held >= 0),
  spent bigint not null default 0 check (spent >= 0),
  -- The part of `spent` that was charged to reservations without this period: when they were made, the key had no spend
  -- limit, or a limit with another kind of period.
  counted bigint not null default 0 check (counted between 0 and spent),
  primary key (key_id, period_start)
) with (fillfactor = 50);

-- Requests and tokens that a key with a rate limit was granted in its latest minute.
create table key_rates (
  key_id uuid primary key,
  minute timestamptz not null,
  requests integer not null check (requests >= 0),
  tokens bigint not null check (tokens >= 0)
) with (fillfactor = 50);
