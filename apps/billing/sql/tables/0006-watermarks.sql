-- How far each model's settlement stream is known to be settled, in the time of the queue Redis.

create table settlement_watermarks (
  model text primary key,
  watermark timestamptz, -- everything settled in Redis until this time is settled here; null: unknown
  run_id text not null, -- run id of the Redis server at the last observation
  last_ms bigint not null, -- the stream's last id at the last observation
  last_seq bigint not null,
  observed_at timestamptz not null, -- Redis time of the last observation
  frozen_until timestamptz -- the watermark does not move before this time
);
