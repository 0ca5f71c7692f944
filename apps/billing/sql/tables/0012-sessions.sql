-- Sessions of people who look at the console, and the role that changes nothing.

alter table admin_credentials
  drop constraint admin_credentials_role_check,
  add constraint admin_credentials_role_check check (role in ('owner', 'support', 'ops', 'viewer'));

-- A session belongs to the credential that opened it, or to the configured token: then it has no credential, and its
-- hashes are keyed with that token, so that another one does not find them. A ticket is a row that is not claimed yet.
-- Whether a session has expired follows from its times; rows are deleted after 30 days.
create table admin_sessions (
  id uuid primary key,
  credential_id uuid references admin_credentials,
  role text not null check (role in ('owner', 'support', 'ops', 'viewer')),
  user_agent text,
  sha256 bytea unique check (octet_length(sha256) = 32), -- of its token; null: not claimed
  ticket_sha256 bytea unique check (octet_length(ticket_sha256) = 32), -- null: claimed, or opened without a ticket
  created_at timestamptz not null, -- of a ticket: when it was handed out; of a session: when it began
  last_used_at timestamptz not null, -- to the minute
  ended_at timestamptz,
  constraint token_or_ticket check (num_nonnulls(sha256, ticket_sha256) = 1)
);
