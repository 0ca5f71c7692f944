-- The number of output tokens that an amount of money pays for.
--
-- In:  available (nano-credits), input (tokens, paid first), most (the tokens wanted), prices as of price_tokens.
-- Out: at most `most` tokens; price_tokens(input, 0, result) <= available always holds. Null: not even the input can be
--      paid, or not one of the wanted tokens.
--
-- No subselect, because PostgreSQL inlines only a single expression: else each call would be a query of its own.
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
