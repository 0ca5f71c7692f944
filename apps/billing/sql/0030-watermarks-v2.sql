-- Takes one observation per stream, as advance_watermarks_v1, and notices a database that went back in time: one that
-- was restored from a backup, or a standby that took over before it had everything.
--
-- In:  as advance_watermarks_v1, and confirmed: for each stream the latest `observed` that Redis was told this database
--      has (null: none).
-- Out: one row for each stream whose confirmed observation this database does not have. Nothing of it was taken:
--      replay_from  what was settled in Redis since then may have been forgotten here (null: since ever)
create function advance_watermarks_v2(
  models text[], settled_until timestamptz[], last_ids_ms bigint[], last_ids_seq bigint[], confirmed timestamptz[],
  run text, observed timestamptz, freeze_for interval
) returns table (model text, replay_from timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
  forgotten text[];
begin
  select coalesce(array_agg(o.model), '{}') into forgotten
  from unnest(models, confirmed) as o (model, confirmed) left join settlement_watermarks w on w.model = o.model
  where o.confirmed > coalesce(w.observed_at, '-infinity');

  perform advance_watermarks_v1(
    array_agg(o.model), array_agg(o.settled), array_agg(o.ms), array_agg(o.seq), run, observed, freeze_for)
  from unnest(models, settled_until, last_ids_ms, last_ids_seq) as o (model, settled, ms, seq)
  where o.model <> all (forgotten);

  return query
  select f.model, w.watermark
  from unnest(forgotten) as f (model) left join settlement_watermarks w on w.model = f.model;
end
$$;
