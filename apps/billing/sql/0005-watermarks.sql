-- How far each model's settlement stream is settled for certain, in the queue Redis' own time.

create table settlement_watermarks (
  model text primary key,
  watermark timestamptz, -- everything settled in Redis until then is settled here; null: not known yet
  run_id text not null, -- of the Redis server that was asked last
  last_ms bigint not null, -- the stream's last id then
  last_seq bigint not null,
  observed_at timestamptz not null, -- Redis time then
  frozen_until timestamptz -- the watermark stands still until then
);

-- Takes one observation per stream.
--
-- In:  models, settled_until (Redis time up to which all is settled; null: not known), last_ids_ms, last_ids_seq,
--      all of equal length; run (the server's run id); observed (Redis time of the observation); freeze_for.
-- A new run id or a last id that went back means that Redis may have lost what it acknowledged: settlements are
-- sent again then, and until they had `freeze_for` to arrive nothing may expire on the word of this stream. An
-- observation no newer than the stored one changes nothing: another replica was faster.
create function advance_watermarks_v1(
  models text[], settled_until timestamptz[], last_ids_ms bigint[], last_ids_seq bigint[],
  run text, observed timestamptz, freeze_for interval
) returns void language sql as $$
  insert into settlement_watermarks as w (model, watermark, run_id, last_ms, last_seq, observed_at)
  select model, settled, run, ms, seq, observed
  from unnest(models, settled_until, last_ids_ms, last_ids_seq) as o (model, settled, ms, seq)
  order by model
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
  where excluded.observed_at > w.observed_at
$$;
