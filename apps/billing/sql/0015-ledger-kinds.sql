-- Two more reasons for an entry: a cost that no charge could cover, and an operator's correction.

alter table ledger
  drop constraint ledger_kind_check,
  -- Not valid yet: reading the whole ledger here would stop every charge meanwhile.
  add constraint ledger_kind_check check (kind in ('topup', 'adjustment', 'charge', 'write-off')) not valid;

insert into system_accounts values
  ('00000000-0000-0000-0000-000000000003', 'write-offs'),
  ('00000000-0000-0000-0000-000000000004', 'adjustments');

-- What a charge left of a cost. A cost may be wider than any amount of credits; the ledger holds what an amount can.
create function written_off(cost numeric, charged bigint) returns bigint language sql immutable parallel safe as $$
  select least(cost - charged, 9223372036854775807)::bigint
$$;
