-- Corrects an account's balance.
--
-- In:  movement (the id for a new adjustment), account, amount (signed), why, key (the caller's idempotency key);
--      at (now).
-- Out: one row with the columns and statuses of top_up, and one more status:
--      insufficient  the available credits do not cover the negative amount: nothing is changed; posted as it is now
create or replace function adjust(movement uuid, account uuid, amount bigint, why text, key text, at timestamptz)
returns table (status text, movement_id uuid, posted bigint) language plpgsql as $$
#variable_conflict use_variable
declare
  balance accounts%rowtype;
  earlier adjustments%rowtype;
begin
  select * into balance from accounts a where a.id = account for no key update;
  if not found then
    return query select 'unknown', null::uuid, null::bigint;
    return;
  end if;

  select * into earlier from adjustments t where t.account_id = account and t.idempotency_key = key;
  if found then
    return query select
      case when earlier.amount = amount and earlier.reason = why then 'replayed' else 'conflict' end,
      earlier.id, balance.posted;
    return;
  end if;
  if balance.posted - balance.held + amount < 0 then
    return query select 'insufficient', null::uuid, balance.posted;
    return;
  end if;

  insert into adjustments (id, account_id, amount, reason, idempotency_key, created_at)
  values (movement, account, amount, why, key, at);
  insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
  select 'adjustment', movement, case when amount > 0 then s.id else account end,
    case when amount > 0 then account else s.id end, abs(amount), at
  from system_accounts s where s.name = 'adjustments';
  update accounts a set posted = a.posted + amount where a.id = account;
  return query select 'posted', movement, balance.posted + amount;
end
$$;
