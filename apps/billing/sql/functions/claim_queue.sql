-- Claims a queue Redis for this database, and renews the claim.
--
-- In:  the id that the queue itself stores; its place, for operators; how long a claim lasts without a renewal.
-- Out: one row: holder, the place of another queue whose claim has not ended; null if the claim is this queue's.
--
-- A claim is written again only when a quarter of its time has passed, so that many replicas together write no more
-- often than one replica would. A claim that is dated in the future, by a server whose clock was wrong, counts as
-- ended.
create or replace function claim_queue(queue uuid, place text, lasting interval)
returns table (holder text) language plpgsql as $$
begin
  update cell c set queue_id = queue, queue_place = place, claimed_at = clock_timestamp()
  where c.queue_id is null
    or (c.queue_id = queue and c.claimed_at < clock_timestamp() - lasting / 4)
    or c.claimed_at not between clock_timestamp() - lasting and clock_timestamp() + lasting;
  return query select case when c.queue_id <> queue then c.queue_place end from cell c;
end
$$;
