-- Returns the hash of a part of the ledger.
--
-- In:  start (the hash before the part); after, until (the part is the entries with after < seq <= until).
-- Out: the hash after the part. The hash after each entry is the SHA-256 of the hash before it and the entry's line.
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
