-- Returns the part of a cost that its charge did not cover, as the ledger records it.
--
-- In:  cost and charged, in nano-credits.
-- Out: nano-credits. If the part exceeds the largest amount of a ledger entry, that amount.
create or replace function written_off(cost numeric, charged bigint) returns bigint
language sql immutable parallel safe as $$
  select least(cost - charged, 9223372036854775807)::bigint
$$;
