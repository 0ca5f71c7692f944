-- Prevents holds in use from expiring after the clock of a queue Redis has jumped.
--
-- In:  arrays of equal length: models; observed (the server's time after the jump); jumps (how far its clock jumped;
--      negative: back).
-- Out: one row for each model with a watermark: frozen (the server's time until which the watermark does not move).
--
-- After a jump forward every hold looks older than it is. The watermark stays where it is until the last hold that is
-- open now would have ended by the old clock; by the new clock this moment is `jumps` later. One more minute is for
-- holds that gateways make before they have read the new time. If no hold is open, the watermark stays for 15 minutes,
-- for such holds alone. A hold ends at most a day and its grace from now (MAX_DEADLINE_AHEAD_MS), so a hold that ends
-- more than two days from now was made by the new clock and does not count.
--
-- After a jump back the watermark is later than every hold that begins now. So the watermark is unknown until the clock
-- is one minute past the last observation. An observation that was made before the jump and arrives after it cannot set
-- the watermark.
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
