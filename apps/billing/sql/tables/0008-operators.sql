-- Operators: their credentials, and the record of their changes.

-- How operators and their tools sign in. A token has 256 random bits, so its SHA-256 needs no salt.
create table admin_credentials (
  id uuid primary key,
  name text not null unique check (name <> ''),
  role text not null check (role in ('owner', 'support', 'ops')),
  sha256 bytea not null unique check (octet_length(sha256) = 32),
  created_at timestamptz not null,
  revoked_at timestamptz
);

-- Every change that an operator made, written in the transaction of the change: neither exists without the other.
create table admin_audit (
  seq bigint generated always as identity primary key,
  at timestamptz not null,
  actor text not null, -- name of the credential
  role text not null,
  action text not null, -- the operation's name
  target text, -- id of the changed thing
  reason text,
  details jsonb not null
);

create trigger admin_audit_append_only before update or delete or truncate on admin_audit
  for each statement execute function refuse_change();
