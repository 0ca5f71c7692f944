-- The hash of a part of the ledger.
--
-- In:  start (the hash before the part); the part: entries with a seq above `after` and up to `until`.
-- Out: the hash after them: for each entry, the SHA-256 of the hash before and the entry's line.
create or replace function chain_ledger(start bytea, after bigint, until bigint) returns bytea
language plpgsql stable as $$
declare
  entry ledger;
  hash bytea := start;
begin
  for entry in select * from ledger where seq > after and seq <= until order by seq loop
    hash := sha256(hash || convert_to(ledger_line(entry), 'UTF8'));
  end loop;
  return hash;
end
$$;
