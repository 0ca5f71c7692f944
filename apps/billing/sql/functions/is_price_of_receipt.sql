-- Returns whether a receipt was made at the prices of a price version.
--
-- In:  receipt (json, as in settle), price (the version).
-- Out: true when the receipt has the three prices of the version. The version's number is not compared, because after a
--      restore the newest numbers are given to other prices.
create or replace function is_price_of_receipt(receipt jsonb, price price_versions) returns boolean
language sql immutable parallel safe as $$
  select price.input_price = (receipt ->> 'inputPriceNano')::bigint
    and price.cached_input_price = (receipt ->> 'cachedInputPriceNano')::bigint
    and price.output_price = (receipt ->> 'outputPriceNano')::bigint
$$;
