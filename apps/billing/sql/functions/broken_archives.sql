-- Returns the archived months that the database contradicts: by the balances carried from them, by the chain of hashes
-- through them, or by the seals at the ends of these months.
--
-- Out: the first days of these months, in order. The newest month is among them if archived_balances does not match its
--      hash. If there are balances without any archive, the only row is -infinity.
create or replace function broken_archives() returns setof date language sql stable as $$
  select month from (
    select a.*, lag(a.chain_after) over (order by a.month) as chain, lag(a.last_seq) over (order by a.month) as reached,
      lead(a.month) over (order by a.month) is null as is_newest
    from ledger_archives a
  ) a
  where a.chain_before <> coalesce(a.chain, sha256('')) or a.first_seq <> coalesce(a.reached, 0) + 1
    or (a.is_newest and a.balances_sha256 <> hash_balances())
    or exists (select from ledger_seals s where s.last_seq = a.last_seq and s.sha256 <> a.chain_after)
    or (a.last_seq > 0 and not exists (select from ledger_seals s where s.last_seq = a.last_seq))
  union all
  select date '-infinity'
  where not exists (select from ledger_archives) and exists (select from archived_balances)
  order by month
$$;
