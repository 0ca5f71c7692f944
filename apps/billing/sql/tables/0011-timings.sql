-- How long each generation waited and ran, for people who ask why a request was slow. No money function reads or writes
-- this table. A row that could not be written is missing for ever.
--
-- Rows are kept for 90 days. The table is partitioned by the month of the id, as usage is, because a month then leaves
-- with one `drop table` (`forget_timings`). If rows were deleted instead, the table would lose as many rows a day as it
-- gets. It would be written twice, and each vacuum would read its whole index. `prepare_months` makes the partitions of
-- the coming months. A row whose month has no partition goes to the default partition, and is deleted from there.
--
-- A null value is unknown, or its event did not happen: a generation that no worker claimed has waited, but has not
-- run.

create table request_timings (
  reservation_id uuid primary key,
  waited_ms integer check (waited_ms >= 0), -- from the queue to its first claim, by the clock of the queue Redis
  ahead integer check (ahead >= 0), -- generations before it in the queue when it was admitted
  first_token_ms integer check (first_token_ms >= 0), -- from its first claim to its first output at the gateway
  ran_ms integer check (ran_ms >= 0), -- from its first output to its end, pauses of a recovery included
  finish_reason text, -- as in the answer: stop, length, tool_calls …
  error_code text, -- as in the answer, if the generation failed
  reasoning_tokens integer check (reasoning_tokens >= 0), -- a part of the completion tokens
  streamed boolean,
  written_at timestamptz not null
) partition by range (reservation_id);

create table request_timings_default partition of request_timings default;
