-- The catalog: the models and their prices.

create table models (
  id text primary key,
  kind text not null check (kind in ('chat', 'embedding')),
  created_s bigint not null,
  owned_by text not null,
  context_window integer not null check (context_window > 0),
  max_output integer not null check (max_output >= 0),
  embedding_dimensions integer check (embedding_dimensions > 0),
  matryoshka boolean, -- whether embeddings can be shortened
  tools boolean not null,
  reasoning boolean not null,
  default_effort text not null check (default_effort in ('off', 'low')),
  fixed_state text check (fixed_state in ('busy', 'warming')), -- availability that is fixed for tests; null: measured
  enabled boolean not null,
  constraint embedding_models_have_dimensions
    check (num_nulls(embedding_dimensions, matryoshka) = case kind when 'embedding' then 0 else 2 end)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end
$$;

-- Nano-credits per 1,000,000 tokens. A price never changes: a new version begins. A reservation names the version it
-- was made under and is charged by it.
create table price_versions (
  id bigint generated always as identity primary key,
  model text not null references models,
  effective_from timestamptz not null,
  input_price bigint not null check (input_price >= 0),
  cached_input_price bigint not null check (cached_input_price >= 0),
  output_price bigint not null check (output_price >= 0),
  -- Holds assume no cache discount. If cached tokens cost more, a charge could exceed its hold.
  constraint cached_input_not_dearer check (cached_input_price <= input_price),
  unique (model, effective_from)
);

create trigger price_versions_immutable before update or delete or truncate on price_versions
  for each statement execute function refuse_change();

-- The hash of the catalog files at their last load. While it is unchanged, a later publication by an operator stays.
create table catalog_file (
  only_row boolean primary key default true check (only_row),
  sha256 bytea not null check (octet_length(sha256) = 32)
);
