-- A billing service of the version before calls these while it is replaced. They do what their successors do, so that
-- budgets and rates hold whoever serves; the two answers that it does not know become the nearest that it does.

create or replace function reserve_v1(
  ids uuid[], key_ids uuid[], models text[], inputs integer[], outputs integer[], deadlines timestamptz[],
  grace interval, at timestamptz
) returns table (
  ord integer, status text, amount bigint, granted_output integer, was_clamped boolean,
  input_price bigint, cached_input_price bigint, output_price bigint, available bigint, held bigint
) language sql as $$
  select ord, case status when 'key-limit' then 'insufficient-credits' when 'key-rate' then 'model-unknown' else status end,
    amount, granted_output, was_clamped, input_price, cached_input_price, output_price, available, held
  from reserve_v2(ids, key_ids, models, inputs, outputs, deadlines, grace, at)
$$;

create or replace function replace_v1(ids uuid[], inputs integer[], outputs integer[], at timestamptz) returns table (
  ord integer, status text, amount bigint, granted_output integer, was_clamped boolean,
  input_price bigint, cached_input_price bigint, output_price bigint, available bigint, held bigint
) language sql as $$
  select ord, case status when 'key-limit' then 'insufficient-credits' else status end,
    amount, granted_output, was_clamped, input_price, cached_input_price, output_price, available, held
  from replace_v2(ids, inputs, outputs, at)
$$;

create or replace function release_v1(ids uuid[], at timestamptz) returns table (id uuid, released boolean)
language sql as $$
  select id, released from release_v2(ids, at)
$$;

create or replace function settle_v1(
  ids uuid[], epochs integer[], outcomes text[], prompts integer[], cacheds integer[], completions integer[],
  bys text[], at timestamptz
) returns table (ord integer, result text, cost numeric, charged bigint) language sql as $$
  select ord, result, cost, charged
  from settle_v2(
    ids, epochs, outcomes, prompts, cacheds, completions, bys,
    array_fill(null::jsonb, array[coalesce(array_length(ids, 1), 0)]), at)
$$;

create or replace function expire_v1(most integer, at timestamptz)
returns table (expired integer, freed numeric, more boolean) language sql as $$
  select expired, freed, more from expire_v2(most, at)
$$;
