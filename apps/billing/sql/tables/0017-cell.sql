-- The identity of this database, and the queue Redis that its settlements come from: one row. A replica of billing with
-- another queue would not read the settlements of this queue, and would expire the holds that they settle: see
-- `claim_queue`.
create table cell (
  database_id uuid primary key default gen_random_uuid(),
  only_row boolean not null default true unique check (only_row),
  queue_id uuid,
  -- Where the queue is, for operators.
  queue_place text,
  claimed_at timestamptz,
  check (num_nulls(queue_id, queue_place, claimed_at) in (0, 3))
);
insert into cell default values;
