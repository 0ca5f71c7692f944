-- Returns the hash of the archived balances.
--
-- Out: the SHA-256 of a line account|balance per account, in the order of the accounts, joined by line feeds.
create or replace function hash_balances() returns bytea language sql stable as $$
  select sha256(convert_to(coalesce(string_agg(account || '|' || balance, E'\n' order by account), ''), 'UTF8'))
  from archived_balances
$$;
