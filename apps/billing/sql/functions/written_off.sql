-- The part of a cost that its charge did not cover, as the ledger records it.
--
-- In:  cost and charged, in nano-credits.
-- Out: nano-credits. A cost may exceed what a ledger entry can have; then the largest possible amount.
create or replace function written_off(cost numeric, charged bigint) returns bigint
language sql immutable parallel safe as $$
  select least(cost - charged, 9223372036854775807)::bigint
$$;
