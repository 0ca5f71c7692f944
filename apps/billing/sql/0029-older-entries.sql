-- What the ledger lacks of the time before it knew write-offs: until then the usage alone told them.
--
-- The older settle_v1 wrote none. No call of it is under way any more: the indexes of the file before were built
-- concurrently, and such a build ends only when every transaction older than itself has ended.

insert into ledger (kind, ref, debit_account, credit_account, amount, posted_at)
select 'write-off', u.reservation_id, d.id, c.id, written_off(u.cost, u.charged), u.settled_at
from usage u, system_accounts d, system_accounts c
where u.cost > u.charged and d.name = 'write-offs' and c.name = 'revenue'
  and not exists (select from ledger l where l.ref = u.reservation_id and l.kind = 'write-off')
on conflict (ref, kind) do nothing;

alter table ledger validate constraint ledger_kind_check;
