-- Returns the reason why a month cannot be archived now.
--
-- In:  month (its first day); keep (the number of whole months before the present month that stay); at (now).
-- Out: a clause for operators; null: the month can be archived.
--
-- Runs with its owner's rights, to read the last number of the ledger's sequence.
create or replace function archive_problem(month date, keep integer, at timestamptz) returns text
language plpgsql stable security definer as $$
declare
  ended constant timestamptz := month_start(month::timestamp at time zone 'UTC', 1);
  last bigint;
  counts jsonb;
begin
  if ended > month_start(at, -keep) then
    return format('it is kept: the %s months before the present one stay', keep);
  end if;
  select max(seq) into last from ledger where seq < first_seq(ended);
  if coalesce(pg_sequence_last_value(pg_get_serial_sequence('ledger', 'seq')), 0) < first_seq(ended) then
    return 'its ledger has not ended: the first seal of a later month ends it';
  end if;
  if last is not null and not exists (select from ledger_seals where last_seq = last) then
    return 'it is not sealed to its end';
  end if;
  if exists (
    select from reservations where id >= archived_before() and id < first_id(ended) and state = 'held'
  ) then
    return 'it has open holds';
  end if;
  select r.counts into counts from reconciliation_runs r order by seq desc limit 1;
  if counts is null then
    return 'the books were not compared yet';
  end if;
  if exists (select from jsonb_array_elements(counts) as q where (q ->> 'rows')::bigint <> 0) then
    return 'the newest comparison of the books found contradictions';
  end if;
  return null;
end
$$;

do $$
begin
  execute format('alter function archive_problem set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
