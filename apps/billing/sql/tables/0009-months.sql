-- The three tables that grow with every request are cut into months, so that an old month can leave the database as a
-- whole (0010-archives.sql), and so that the indexes of the present month stay small. Native range partitions.
--
-- Reservations and usage by their id. It is a UUIDv7: its first 48 bits are the Unix milliseconds at which the gateway
-- made it, so each month is one range of ids (`first_id`). Therefore `primary key (id)` stays, and with it the promise
-- that a repeated call is found by its id alone, whenever it comes: a settlement of the next month finds the hold of
-- this one. A key of (id, month) would not refuse a second row of the same id.
--
-- The ledger by its number, because seals, exports and archives are ranges of numbers. The numbers of a month begin at
-- YYYYMM * 10^12 (`first_seq`), which is known in advance. `seal_ledger` moves the numbering on, under the lock of the
-- seals and before the seal that it makes: so a partition of the ledger ends where a seal ends, and can be checked
-- alone. Until that call, and while there is no partition for the new month, numbers go on in the old one: no entry is
-- ever refused for the lack of a partition. A month has room for 10^12 entries, 370,000 a second.
--
-- (ref, kind) is unique in each partition of the ledger, but not across them: an index over all of them would have to
-- contain the number. Across months, the primary key of usage refuses a second charge of a request, and those of topups
-- and adjustments refuse a second movement, each in the transaction that writes the entry.
--
-- `prepare_months` makes the partitions of this month and the next two; billing calls it every minute. A hold whose
-- month has none yet goes to the default partition and is moved when its month gets one. An id of no real month (a
-- gateway's clock was wrong by months) stays there: billing works with it as with any other.
--
-- The tables of before become the default partitions, and the first partition of the ledger: nothing is rewritten.

-- Their names are needed for the indexes over all partitions. Absent in a new database, whose indexes come later.
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

-- It takes the table's row type, which is about to be another one. The version before seals again after the upgrade.
do $$
begin
  if to_regprocedure('ledger_line(ledger)') is not null then
    drop function ledger_line(ledger);
  end if;
end
$$;

-- The numbers of this partition are those from before numbers had a month.
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

-- The rights of the tables of before were theirs, and nothing is granted on partitions: all access is by the tables.
do $$
begin
  if exists (select from pg_roles where rolname = 'millrace_service') then
    revoke all on reservations_default, usage_default, ledger_first from millrace_service;
    grant select, insert on ledger, usage to millrace_service;
    grant select, insert, update on reservations to millrace_service;
  end if;
end
$$;
