-- Sessions of people who use the console, and the role `viewer`, which only reads.

alter table admin_credentials
  drop constraint admin_credentials_role_check,
  add constraint admin_credentials_role_check check (role in ('owner', 'support', 'ops', 'viewer'));

-- A session belongs to the credential that opened it, or to the configured token. A session of the configured token has
-- no credential. Its hashes are keyed with the token, so that they are not found with another token. A ticket is a row
-- that is not claimed yet. A session's expiry follows from its times. Rows are deleted after 30 days.
create table admin_sessions (
  id uuid primary key,
  credential_id uuid references admin_credentials,
  role text not null check (role in ('owner', 'support', 'ops', 'viewer')),
  user_agent text,
  sha256 bytea unique check (octet_length(sha256) = 32), -- hash of the session's token; null: not claimed
  ticket_sha256 bytea unique check (octet_length(ticket_sha256) = 32), -- null: claimed, or opened without a ticket
  created_at timestamptz not null, -- when the ticket was handed out, or the session began
  last_used_at timestamptz not null, -- to the minute
  ended_at timestamptz,
  constraint token_or_ticket check (num_nonnulls(sha256, ticket_sha256) = 1)
);
