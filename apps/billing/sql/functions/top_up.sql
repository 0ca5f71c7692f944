-- Gives an account credits.
--
-- In:  movement (the id for a new top-up), account, amount, why, key (the caller's idempotency key); at (now).
-- Out: one row, status:
--      posted    movement_id, and posted (the account's posted credits after the top-up)
--      replayed  the key was used before with the same amount and reason: the earlier movement_id, posted as it is now
--      conflict  the key was used before with another amount or reason: the same columns as replayed
--      unknown   no such account
create or replace function top_up(movement uuid, account uuid, amount bigint, why text, key text, at timestamptz)
returns table (status text, movement_id uuid, posted bigint) language plpgsql as $$
#variable_conflict use_variable
declare
  balance bigint;
  earlier topups%rowtype;
begin
  select a.posted into balance from accounts a where a.id = account for no key update;
  if not found then
    return query select 'unknown', null::uuid, null::bigint;
    return;
  end if;

  select * into earlier from topups t where t.account_id = account and t.idempotency_key = key;
  if found then
    if earlier.amount = amount and earlier.reason = why then
      return query select 'replayed', earlier.id, balance;
    else
      return query select 'conflict', earlier.id, balance;
    end if;
    return;
  end if;

  insert into topups (id, account_id, amount, reason, idempotency_key, created_at)
  values (movement, account, amount, why, key, at);
  insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
  select 'topup', movement, s.id, account, amount, at from system_accounts s where s.name = 'funding';
  update accounts a set posted = a.posted + amount where a.id = account;
  return query select 'posted', movement, balance + amount;
end
$$;
