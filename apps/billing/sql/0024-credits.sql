-- Who did what, and corrections of a balance.

-- Everything that an operator changed. Written in the transaction of the change, so that neither is there alone.
create table admin_audit (
  seq bigint generated always as identity primary key,
  at timestamptz not null,
  actor text not null, -- name of the credential
  role text not null,
  action text not null, -- the operation's name
  target text, -- id of what was changed
  reason text,
  details jsonb not null
);

create trigger admin_audit_append_only before update or delete or truncate on admin_audit
  for each statement execute function refuse_change();

create index admin_audit_by_target on admin_audit (target, seq);

-- How operators and their tools sign in. A token has 256 random bits, so its SHA-256 needs no salt.
create table admin_credentials (
  id uuid primary key,
  name text not null unique check (name <> ''),
  role text not null check (role in ('owner', 'support', 'ops')),
  sha256 bytea not null unique check (octet_length(sha256) = 32),
  created_at timestamptz not null,
  revoked_at timestamptz
);

create table adjustments (
  id uuid primary key,
  account_id uuid not null references accounts,
  amount bigint not null check (amount <> 0), -- above zero: the account gets it
  reason text not null check (reason <> ''),
  idempotency_key text not null,
  created_at timestamptz not null,
  unique (account_id, idempotency_key)
);

-- Corrects an account's balance.
--
-- In:  adjustment (the id it gets if it is new), account, amount (signed), why, key (the caller's idempotency key);
--      at (now).
-- Out: one row, as of top_up_v1, and
--      insufficient  it would take more than is available: posted as it stays
create function adjust_v1(adjustment uuid, account uuid, amount bigint, why text, key text, at timestamptz)
returns table (status text, adjustment_id uuid, posted bigint) language plpgsql as $$
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
  values (adjustment, account, amount, why, key, at);
  insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
  select 'adjustment', adjustment, case when amount > 0 then s.id else account end,
    case when amount > 0 then account else s.id end, abs(amount), at
  from system_accounts s where s.name = 'adjustments';
  update accounts a set posted = a.posted + amount where a.id = account;
  return query select 'posted', adjustment, balance.posted + amount;
end
$$;
