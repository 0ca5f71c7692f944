-- Keeps a jump of a queue Redis' clock from expiring holds that are in use.
--
-- In:  arrays of equal length: models; observed (the server's time after the jump); jumps (how far its clock went, negative
--      for back).
-- Out: one row for each model with a watermark: frozen (until when, by that clock).
--
-- A clock that went on makes every hold older than it is: none expires until the last hold that is open now would have
-- ended by the clock before, which is `jumps` later by the new one. A minute more is for the holds that gateways make before
-- they have read the new time; where none is open, these alone are waited for. A hold ends a day and its grace from now at
-- the latest (MAX_DEADLINE_AHEAD_MS), so a hold beyond two days was made by the new clock and does not count.
--
-- A clock that went back makes the watermark later than every hold that begins now: the watermark is unknown until the
-- clock has passed the last observation, and an observation from before the jump that arrives late cannot set it.
create or replace function freeze_watermarks(models text[], observed timestamptz[], jumps interval[])
returns table (model text, frozen timestamptz) language sql as $$
  update settlement_watermarks w set
    watermark = case when j.jump > '0' then w.watermark end,
    frozen_until = greatest(w.frozen_until, case
      when j.jump > '0' then coalesce((
        select max(r.expires_at) + j.jump + interval '1 minute' from reservations r
        where r.model = w.model and r.state = 'held' and r.expires_at < j.observed - j.jump + interval '2 days'
      ), j.observed + interval '15 minutes')
      else w.observed_at + interval '1 minute'
    end)
  from unnest(models, observed, jumps) as j (model, observed, jump)
  where w.model = j.model
  returning w.model, w.frozen_until
$$;
