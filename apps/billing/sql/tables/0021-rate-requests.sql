-- The answers that a request counts for in the minute `rate_minute` of its key. Null: the request has one answer, or was
-- made by an earlier version.
alter table reservations add column rate_requests integer;
