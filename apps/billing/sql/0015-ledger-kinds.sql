-- Two more reasons for an entry: a cost that no charge could cover, and an operator's correction.

alter table ledger
  drop constraint ledger_kind_check,
  add constraint ledger_kind_check check (kind in ('topup', 'adjustment', 'charge', 'write-off'));

insert into system_accounts values
  ('00000000-0000-0000-0000-000000000003', 'write-offs'),
  ('00000000-0000-0000-0000-000000000004', 'adjustments');

-- What a charge left of a cost. A cost may be wider than any amount of credits; the ledger holds what an amount can.
create function written_off(cost numeric, charged bigint) returns bigint language sql immutable parallel safe as $$
  select least(cost - charged, 9223372036854775807)::bigint
$$;

-- Until now the usage alone told it.
insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
select 'write-off', u.reservation_id, d.id, c.id, written_off(u.cost, u.charged), u.settled_at
from usage u, system_accounts d, system_accounts c
where u.cost > u.charged and d.name = 'write-offs' and c.name = 'revenue';

create index ledger_by_debit on ledger (debit_account, seq);
create index ledger_by_credit on ledger (credit_account, seq);
