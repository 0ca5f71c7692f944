-- Management keys, with which an account manages its own API keys.
--
-- They have a table of their own, so that no money function can find them: `reserve` and the look-up of a caller's key
-- read api_keys alone. No money function reads or writes the tables of this file.

create table management_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text not null check (name <> ''),
  sha256 bytea not null unique check (octet_length(sha256) = 32), -- of the whole key; the secret has 196 random bits
  prefix text not null,
  last4 text not null,
  created_at timestamptz not null,
  expires_at timestamptz, -- null: never
  last_used_at timestamptz, -- to the minute
  revoked_at timestamptz
);

-- The API key that an account's request made, so that a repeated request does not make another one. Rows are deleted
-- after 30 days.
create table key_requests (
  account_id uuid not null references accounts,
  idempotency_key text not null check (idempotency_key <> ''),
  sha256 bytea not null check (octet_length(sha256) = 32), -- of the request's action and fields
  key_id uuid not null references api_keys, -- the key that the request made
  created_at timestamptz not null,
  primary key (account_id, idempotency_key)
);
