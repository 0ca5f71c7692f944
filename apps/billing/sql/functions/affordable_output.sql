-- Returns the number of output tokens that an amount of money pays for.
--
-- In:  available (nano-credits), input (tokens, paid first), most (the tokens wanted), prices as in price_tokens.
-- Out: the largest number of tokens, at most `most`, with price_tokens(input, 0, result) <= available. Null: the
--      credits do not cover the input, or cover the input but not one of the wanted tokens.
--
-- The body is one expression without a subselect, because PostgreSQL inlines only that. Otherwise each call would run a
-- query of its own.
create or replace function affordable_output(
  available bigint, input bigint, most integer, input_price bigint, output_price bigint
) returns integer language sql immutable parallel safe as $$
  select case
    when available::numeric * 1000000 < input::numeric * input_price then null
    when output_price = 0 or most = 0 then most
    when available::numeric * 1000000 - input::numeric * input_price < output_price then null
    else least(most, div(available::numeric * 1000000 - input::numeric * input_price, output_price))::integer
  end
$$;
