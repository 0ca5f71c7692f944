-- Price arithmetic. The same rule as libs/money/price.ts, and tests compare the two.

-- What tokens cost: products summed first, then divided and rounded up once. div() is exact; `/` on numeric is not.
create function price_tokens(
  uncached bigint, cached bigint, output bigint,
  input_price bigint, cached_input_price bigint, output_price bigint
) returns numeric language sql immutable parallel safe as $$
  select div(
    uncached::numeric * input_price + cached::numeric * cached_input_price + output::numeric * output_price + 999999,
    1000000
  )
$$;

-- How many of `most` output tokens `available` pays after the whole input; null when not even the input is paid, or
-- not one of the wanted tokens. price_tokens(input, 0, result) <= available always holds.
create function affordable_output(
  available bigint, input bigint, most integer, input_price bigint, output_price bigint
) returns integer language sql immutable parallel safe as $$
  select case
    when rest < 0 then null
    when output_price = 0 or most = 0 then most
    when rest < output_price then null
    else least(most, div(rest, output_price))::integer
  end
  from (select available::numeric * 1000000 - input::numeric * input_price as rest) as r
$$;

-- The most output a generation may have, whatever money says. An estimated input may exceed the context window
-- although the exact one does not, so one token is always left to ask for.
create function output_limit(wanted integer, max_output integer, context_window integer, input integer)
returns integer language sql immutable parallel safe as $$
  select least(wanted, max_output, greatest(context_window - input, 1))
$$;
