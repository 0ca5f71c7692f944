-- The answer to a call that makes or changes a hold, of `reserve` and `resize`. The functions say what each status means.
-- Of any status but granted, the columns after `status` are null if the function does not name them.
create type hold_answer as (
  ord integer, -- number of the call in its batch, from 1
  status text,
  amount bigint,
  granted_output integer,
  was_clamped boolean,
  available bigint,
  held bigint,
  input_price bigint,
  cached_input_price bigint,
  output_price bigint,
  -- The other fields of the hold that its receipt needs.
  account_id uuid,
  price_version bigint,
  key_id uuid,
  model text,
  input_tokens integer,
  wanted_output integer,
  deadline timestamptz
);

-- The functions that `reserve`, `resize` and `settle` replace, and the former `reserve`, whose columns were others.
do $$
declare
  former regprocedure;
begin
  for former in
    select oid from pg_proc
    where pronamespace = current_schema()::regnamespace and proname in (
      'reserve', 'reserve_one', 'reserve_plain', 'replace', 'extend', 'settle', 'settle_one', 'settle_plain',
      'output_limit')
  loop
    execute format('drop function %s', former);
  end loop;
end
$$;
