-- The months before the present one that are in the database, with where their ledgers end.
--
-- In:  keep, as of archive_problem; at (now).
-- Out: one row per month, the oldest first: month (its first day); problem, of archive_problem; last_seq, of the last
--      entry up to the month's end, and chain, the seals' hash there. Both are null where no entry is left up to there;
--      chain alone is null where no seal ends there.
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
