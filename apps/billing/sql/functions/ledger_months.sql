-- Returns the ended months that are in the database, and where their ledgers end.
--
-- In:  keep, as in archive_problem; at (now).
-- Out: one row per month, the oldest first: month (its first day); problem (from archive_problem); last_seq (the last
--      entry up to the month's end); chain (the seals' hash after that entry). Both last_seq and chain are null if no
--      entry is left up to the month's end; chain alone is null if no seal ends with last_seq.
create or replace function ledger_months(keep integer, at timestamptz)
returns table (month date, problem text, last_seq bigint, chain bytea) language sql stable as $$
  select m.month, archive_problem(m.month, keep, at), l.last_seq,
    (select s.sha256 from ledger_seals s where s.last_seq = l.last_seq order by s.day limit 1)
  from (
    select distinct to_date(substring(c.relname from '_(\d{6})$'), 'YYYYMM') as month
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('ledger'::regclass, 'usage'::regclass, 'reservations'::regclass)
  ) m
  cross join lateral (
    select max(e.seq) as last_seq from ledger e
    where e.seq < first_seq(month_start(m.month::timestamp at time zone 'UTC', 1))
  ) l
  where m.month::timestamp at time zone 'UTC' < month_start(at, 0)
  order by m.month
$$;
