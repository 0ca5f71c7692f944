-- How long each generation waited and ran. It is read by people who ask why a request was slow, and by nothing that moves
-- money: no money function reads or writes it, and a row that could not be written is missing for ever.
--
-- Kept for 90 days. Partitioned by month of the id, as usage is, because a month leaves then with one `drop table`
-- (`forget_timings`). A table that is as large as usage and loses each day as many rows as it gets would be written twice,
-- and a vacuum would read its index as a whole each time. `prepare_months` makes the partitions of the coming months. A
-- row whose month has none goes to the default partition, from which it is deleted.
--
-- Null: not known, or it did not happen. A generation that no worker claimed has waited, and has not run.

create table request_timings (
  reservation_id uuid primary key,
  waited_ms integer check (waited_ms >= 0), -- from the queue to its first claim, by the clock of the queue Redis
  ahead integer check (ahead >= 0), -- how many were before it in the queue when it was admitted
  first_token_ms integer check (first_token_ms >= 0), -- from its first claim to its first output at the gateway
  ran_ms integer check (ran_ms >= 0), -- from its first output to its end, pauses of a recovery included
  finish_reason text, -- as in the answer: stop, length, tool_calls …
  error_code text, -- as in the answer, where it failed
  reasoning_tokens integer check (reasoning_tokens >= 0), -- of the completion tokens
  streamed boolean,
  written_at timestamptz not null
) partition by range (reservation_id);

create table request_timings_default partition of request_timings default;
