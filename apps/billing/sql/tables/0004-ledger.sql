-- The ledger: double entry. One row is both entries, so an unbalanced row cannot be written.

-- Every movement of an account's credits has one of these as its other side. They have no balance column, because every
-- charge would update it.
create table system_accounts (
  id uuid primary key,
  name text not null unique
);

insert into system_accounts values
  ('00000000-0000-0000-0000-000000000001', 'funding'),
  ('00000000-0000-0000-0000-000000000002', 'revenue'),
  ('00000000-0000-0000-0000-000000000003', 'write-offs'),
  ('00000000-0000-0000-0000-000000000004', 'adjustments');

create table ledger (
  seq bigint generated always as identity primary key,
  kind text not null check (kind in ('topup', 'adjustment', 'charge', 'write-off')),
  ref uuid not null, -- id of the top-up, the adjustment or the reservation
  debit_account uuid not null,
  credit_account uuid not null check (credit_account <> debit_account),
  amount bigint not null check (amount > 0),
  posted_at timestamptz not null,
  unique (ref, kind)
);

create trigger ledger_append_only before update or delete or truncate on ledger
  for each statement execute function refuse_change();

create table topups (
  id uuid primary key,
  account_id uuid not null references accounts,
  amount bigint not null check (amount > 0),
  reason text not null check (reason <> ''),
  idempotency_key text not null,
  created_at timestamptz not null,
  unique (account_id, idempotency_key)
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
