-- Returns the days whose ledger entries differ from the sealed entries. Reads the whole ledger after the archived
-- months.
--
-- Out: days, in order.
create or replace function broken_seals() returns setof date language plpgsql stable as $$
declare
  seal ledger_seals;
  archive ledger_archives;
  hash bytea := sha256('');
  reached bigint := 0;
begin
  select * into archive from ledger_archives order by month desc limit 1;
  if found then
    hash := archive.chain_after;
    reached := archive.last_seq;
  end if;
  for seal in select * from ledger_seals where last_seq >= reached order by day loop
    hash := chain_ledger(hash, reached, seal.last_seq);
    reached := seal.last_seq;
    if hash <> seal.sha256 then
      return next seal.day;
      hash := seal.sha256;
    end if;
  end loop;
end
$$;
