-- What the operators' interface needs besides.

-- What the catalog files said when they were last loaded. As long as they say the same, what operators published since
-- stays.
create table catalog_file (
  only_row boolean primary key default true check (only_row),
  sha256 bytea not null check (octet_length(sha256) = 32)
);

-- The scheduled comparisons of the books with themselves, the newest ones.
create table reconciliation_runs (
  seq bigint generated always as identity primary key,
  at timestamptz not null,
  counts jsonb not null -- of each question, the rows that contradict it
);

-- The order in which alarms are listed.
alter table settlement_alarms add column seq bigint generated always as identity, add unique (seq);

grant select, insert, update on catalog_file to millrace_service;
grant select, insert, delete on reconciliation_runs to millrace_service;
