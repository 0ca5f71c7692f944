-- Partitions the three tables that grow with every request by month (native range partitions). So an old month can
-- leave the database as a whole (0010-archives.sql), and the indexes of the present month stay small.
--
-- Reservations and usage are partitioned by their id, a UUIDv7. Its first 48 bits are the Unix milliseconds at which
-- the gateway made it, so each month is one range of ids (`first_id`). Therefore `primary key (id)` stays, and a
-- repeated call is found by its id alone, whenever it comes: a settlement in the next month finds the hold of this
-- month. A primary key of (id, month) would not refuse a second row with the same id.
--
-- The ledger is partitioned by its number, because seals, exports and archives are ranges of numbers. The numbers of a
-- month begin at YYYYMM * 10^12 (`first_seq`), which is known in advance. `seal_ledger` moves the numbering to the new
-- month under the lock of the seals, before it makes its seal. So a partition of the ledger ends where a seal ends, and
-- can be checked alone. Until that call, and while the new month has no partition, numbers go on in the old month: no
-- entry is ever refused for the lack of a partition. A month has room for 10^12 entries, 370,000 a second.
--
-- (ref, kind) is unique in each partition of the ledger, but not across partitions: a unique index over all of them
-- would have to contain the number. Across months, the primary key of usage refuses a second charge of a request. The
-- primary keys of topups and adjustments refuse a second movement. Each does so in the transaction that writes the
-- entry.
--
-- `prepare_months` makes the partitions of this month and the next two; billing calls it every minute. A hold whose
-- month has no partition yet goes to the default partition, and is moved when the month gets one. An id of a wrong
-- month (a gateway's clock was wrong by months) stays in the default partition, where billing works with it as with any
-- other.
--
-- The existing tables become the default partitions and the first partition of the ledger, so that nothing is
-- rewritten.

-- The indexes over all partitions need these names. A new database does not have these indexes yet: they are built
-- later.
alter index if exists reservations_held_by_expiry rename to reservations_held_by_expiry_default;
alter index if exists reservations_held_by_account rename to reservations_held_by_account_default;
alter index if exists reservations_by_closing rename to reservations_by_closing_default;
alter index if exists usage_by_account rename to usage_by_account_default;
alter index if exists usage_by_key rename to usage_by_key_default;
alter index if exists usage_by_time rename to usage_by_time_default;
alter index if exists ledger_by_debit rename to ledger_by_debit_first;
alter index if exists ledger_by_credit rename to ledger_by_credit_first;
alter index if exists ledger_write_offs rename to ledger_write_offs_first;

alter table reservations rename to reservations_default;
alter table reservations_default rename constraint reservations_pkey to reservations_default_pkey;
create table reservations (like reservations_default including constraints, primary key (id)) partition by range (id);
alter table reservations attach partition reservations_default default;

alter table usage rename to usage_default;
alter table usage_default rename constraint usage_pkey to usage_default_pkey;
create table usage (like usage_default including constraints, primary key (reservation_id))
  partition by range (reservation_id);
alter table usage attach partition usage_default default;

-- `ledger_line` takes the ledger's row type, which this file replaces, so it is dropped first. No replica can seal
-- until the functions are made again, later in the same migration.
do $$
begin
  if to_regprocedure('ledger_line(ledger)') is not null then
    drop function ledger_line(ledger);
  end if;
end
$$;

-- The first partition has the numbers from before numbers had a month.
do $$
declare
  reached bigint;
begin
  select last_value into reached from ledger_seq_seq where is_called;
  alter table ledger alter column seq drop identity;
  alter table ledger rename to ledger_first;
  alter table ledger_first rename constraint ledger_pkey to ledger_first_pkey;
  alter table ledger_first rename constraint ledger_ref_kind_key to ledger_first_ref_kind_key;
  create table ledger (like ledger_first including constraints, primary key (seq)) partition by range (seq);
  -- This reads the table once, to prove the bound.
  alter table ledger attach partition ledger_first for values from (minvalue) to (100000000000000000);
  alter table ledger alter column seq add generated always as identity;
  if reached is not null then
    perform setval(pg_get_serial_sequence('ledger', 'seq'), reached);
  end if;
end
$$;

create trigger ledger_append_only before update or delete or truncate on ledger
  for each statement execute function refuse_change();

-- Grants stay with the renamed tables, which are partitions now. Nothing is granted on partitions: the service reads
-- and writes them through the partitioned tables.
do $$
begin
  if exists (select from pg_roles where rolname = 'millrace_service') then
    revoke all on reservations_default, usage_default, ledger_first from millrace_service;
    grant select, insert on ledger, usage to millrace_service;
    grant select, insert, update on reservations to millrace_service;
  end if;
end
$$;
