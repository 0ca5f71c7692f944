-- Returns the price of tokens. More tokens never cost less, so usage within a grant never costs more than the hold.
-- test/support/price-tokens.ts is the same rule in TypeScript; tests compare the two.
--
-- In:  numbers of tokens, and prices in nano-credits per 1,000,000 tokens.
-- Out: nano-credits. Products are summed first, then divided and rounded up once.
--
-- div() is exact; `/` on numeric is not.
create or replace function price_tokens(
  uncached bigint, cached bigint, output bigint,
  input_price bigint, cached_input_price bigint, output_price bigint
) returns numeric language sql immutable parallel safe as $$
  select div(
    uncached::numeric * input_price + cached::numeric * cached_input_price + output::numeric * output_price + 999999,
    1000000
  )
$$;
