-- The days whose ledger entries are not those that were sealed. Reads the whole ledger.
--
-- Out: days, in their order.
create or replace function broken_seals() returns setof date language plpgsql stable as $$
declare
  seal ledger_seals;
  hash bytea := sha256('');
  reached bigint := 0;
begin
  for seal in select * from ledger_seals order by day loop
    hash := chain_ledger(hash, reached, seal.last_seq);
    reached := seal.last_seq;
    if hash <> seal.sha256 then
      return next seal.day;
      hash := seal.sha256;
    end if;
  end loop;
end
$$;
