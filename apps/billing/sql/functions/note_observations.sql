-- Records observations of settlement streams, and moves the watermarks.
--
-- In:  arrays of equal length: models; runs (the run id of the stream's Redis server); observed (that server's time of the
--      observation); settled_until (the server's time up to which everything is settled; null: unknown, or the watermark
--      need not move); last_ids_ms and last_ids_seq (the stream's last id); confirmed (the latest `recorded` of this
--      database that Redis has stored; null: none); freeze_for (see below).
-- Out: one row for each stream:
--      recorded      time of the latest observation that this database has recorded; null: none
--      is_forgotten  this database does not have the confirmed observation: it went back in time, restored from a backup
--                    or as a standby that took over too early. Nothing of the new observation is recorded
--      replay_from   if is_forgotten: the database may lack settlements since this time (null: all of them)
--
-- Writes only changes: a new stream, another run id, another last id, or a watermark that moves. So idle streams cost
-- no write-ahead log. A row that stays the same is left out of the insert, because `on conflict` would lock and log it.
--
-- A new run id, or a last id that went back, means that Redis may have lost settlements that it had acknowledged. These
-- settlements are then sent again. Until `freeze_for` has passed the watermark does not move, so that no hold expires
-- before they arrive. An observation that is not newer than the recorded one changes nothing: another replica was
-- faster.
create or replace function note_observations(
  models text[], runs text[], observed timestamptz[], settled_until timestamptz[], last_ids_ms bigint[],
  last_ids_seq bigint[], confirmed timestamptz[], freeze_for interval
) returns table (model text, recorded timestamptz, is_forgotten boolean, replay_from timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
  forgotten text[];
begin
  select coalesce(array_agg(o.model), '{}') into forgotten
  from unnest(models, confirmed) as o (model, confirmed) left join settlement_watermarks w on w.model = o.model
  where o.confirmed > coalesce(w.observed_at, '-infinity');

  insert into settlement_watermarks as w (model, watermark, run_id, last_ms, last_seq, observed_at)
  select o.model, o.settled, o.run, o.ms, o.seq, o.observed
  from unnest(models, runs, observed, settled_until, last_ids_ms, last_ids_seq)
    as o (model, run, observed, settled, ms, seq)
  left join settlement_watermarks k on k.model = o.model
  where o.model <> all (forgotten)
    and (
      k.model is null or k.run_id <> o.run or (k.last_ms, k.last_seq) <> (o.ms, o.seq)
      or o.settled > coalesce(k.watermark, '-infinity') and o.observed >= coalesce(k.frozen_until, '-infinity')
    )
  order by o.model
  on conflict (model) do update set
    watermark = case
      when w.run_id <> excluded.run_id or (excluded.last_ms, excluded.last_seq) < (w.last_ms, w.last_seq)
        or excluded.observed_at < w.frozen_until
      then w.watermark
      else greatest(w.watermark, excluded.watermark)
    end,
    frozen_until = case
      when w.run_id <> excluded.run_id or (excluded.last_ms, excluded.last_seq) < (w.last_ms, w.last_seq)
      then excluded.observed_at + freeze_for
      else w.frozen_until
    end,
    run_id = excluded.run_id,
    last_ms = excluded.last_ms,
    last_seq = excluded.last_seq,
    observed_at = excluded.observed_at
  where excluded.observed_at > w.observed_at;

  return query
  select o.model, w.observed_at, o.model = any (forgotten), case when o.model = any (forgotten) then w.watermark end
  from unnest(models) as o (model) left join settlement_watermarks w on w.model = o.model;
end
$$;
