-- The tokens of the account's failed generations that were not charged, in the hour that begins at `free_hour`. Once they
-- have reached the service's bound, `settle` charges further failures of the hour.
alter table accounts add column free_hour timestamptz;
alter table accounts add column free_tokens bigint not null default 0;
