-- When an account is closed, reopened, credited or gets another weight, each of its keys gets a new version, so that
-- gateways read the keys again. Each of these versions is a row of the one counter, so the time grows with the square
-- of the number of keys: 20,000 keys took longer than the time limit of a statement, and the account could not be
-- closed or credited.
--
-- So an account with more than 1,000 keys raises the counter at once by more than gateways read as single changes
-- (`MAX_CHANGES` in database/keys.ts). They then forget all keys and look them up again.
create or replace function number_keys_of_account() returns trigger language plpgsql as $$
begin
  if (select count(*) from (select from api_keys where account_id = new.id limit 1001) k) > 1000 then
    update change_counters set version = version + 1001 where name = 'keys';
    perform pg_notify('millrace_keys', '');
  else
    update api_keys set status = status where account_id = new.id;
  end if;
  return null;
end
$$;

create or replace function number_keys_of_credited_account() returns trigger language plpgsql as $$
begin
  if (select count(*) from (select from api_keys where account_id = new.id limit 1001) k) > 1000 then
    update change_counters set version = version + 1001 where name = 'keys';
    perform pg_notify('millrace_keys', '');
  else
    perform 1 from api_keys where account_id = new.id and status = 'active' order by id for no key update;
    update api_keys set status = status where account_id = new.id and status = 'active';
  end if;
  return null;
end
$$;
