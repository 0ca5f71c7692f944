-- The catalog: what models are, and what they cost from when on.

create table models (
  id text primary key,
  kind text not null check (kind in ('chat', 'embedding')),
  created_s bigint not null,
  owned_by text not null,
  context_window integer not null check (context_window > 0),
  max_output integer not null check (max_output >= 0),
  tools boolean not null,
  reasoning boolean not null,
  default_effort text not null check (default_effort in ('off', 'low')),
  enabled boolean not null
);

-- Nano-credits per 1,000,000 tokens. A price never changes: a new one begins. Reservations name the version they
-- were made under and are charged by it.
create table price_versions (
  id bigint generated always as identity primary key,
  model text not null references models,
  effective_from timestamptz not null,
  input_price bigint not null check (input_price >= 0),
  cached_input_price bigint not null check (cached_input_price >= 0),
  output_price bigint not null check (output_price >= 0),
  -- Holds assume no cache discount. Were cached tokens dearer, a charge could exceed its hold.
  constraint cached_input_not_dearer check (cached_input_price <= input_price),
  unique (model, effective_from)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end
$$;

create trigger price_versions_immutable before update or delete or truncate on price_versions
  for each statement execute function refuse_change();
