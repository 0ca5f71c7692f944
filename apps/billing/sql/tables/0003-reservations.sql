-- Reservations, the usage of settled reservations, and alarms of settlements.
--
-- States: held -> settled | released | expired, and expired -> settled (a late settlement). settled and released are
-- final.
--
-- No foreign keys here: their checks would lock shared rows in every money transaction. Reconciliation looks for the
-- rows that they would have rejected.

create table reservations (
  id uuid primary key,
  state text not null check (state in ('held', 'settled', 'released', 'expired')),

  -- The fingerprint: a call with the same id is a repetition only if it agrees with all of these.
  key_id uuid,
  model text,
  input_tokens integer,
  wanted_output integer,
  deadline timestamptz,

  -- The exact numbers that replaced the estimate; null until then.
  exact_input integer,
  exact_wanted integer,

  account_id uuid,
  price_version bigint,
  granted_output integer,
  amount bigint check (amount >= 0),
  clamped boolean,
  expires_at timestamptz,
  created_at timestamptz not null,
  closed_at timestamptz,

  extended_deadline timestamptz, -- the deadline after it was moved; null: not moved
  budget_period timestamptz, -- start of the key's budget that counts this hold; null: none does
  rate_minute timestamptz, -- the key's minute that counts this hold; null: none does
  rate_tokens bigint, -- tokens counted in that minute

  -- Only a tombstone has no account. It records the release of an id that was never reserved, and refuses a later
  -- reserve.
  constraint whole_or_tombstone check (
    num_nulls(key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
              amount, clamped, expires_at) = 0
    or (state = 'released' and account_id is null)
  )
);

-- One row per settled generation. It stays when its reservation is gone and makes repeated settlements harmless.
create table usage (
  reservation_id uuid primary key,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  price_version bigint not null,
  epoch integer not null,
  outcome text not null check (outcome in ('completed', 'cancelled', 'fault', 'never-ran')),
  prompt_tokens integer not null check (prompt_tokens >= 0),
  cached_tokens integer not null check (cached_tokens between 0 and prompt_tokens),
  completion_tokens integer not null check (completion_tokens >= 0),
  cost numeric(40, 0) not null check (cost >= 0), -- may exceed any balance, so wider than bigint
  charged bigint not null check (charged between 0 and cost), -- cost - charged is written off
  late boolean not null,
  settled_by text not null,
  settled_at timestamptz not null
);

-- Settlements that should not exist. Nothing is charged for them; operators look at them.
create table settlement_alarms (
  seq bigint generated always as identity unique, -- the order in which they are listed
  reservation_id uuid not null,
  kind text not null check (kind in ('unknown', 'released', 'different')),
  epoch integer not null,
  outcome text not null,
  prompt_tokens integer not null,
  cached_tokens integer not null,
  completion_tokens integer not null,
  settled_by text not null,
  seen_at timestamptz not null,
  -- A redelivered entry raises its alarm once.
  primary key (reservation_id, kind, epoch, outcome, prompt_tokens, cached_tokens, completion_tokens)
);
