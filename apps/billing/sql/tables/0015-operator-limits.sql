-- The column operator_limits has the limits that an operator last set on a key, and whether an operator has disabled
-- it. The account's management keys may not undo them. `apps/billing/admin/resources/operator-limits.ts` has the form.
-- The money functions do not read this column: the limits in effect are the key's other columns.
--
-- It is not recorded who set the limits of existing keys. The limits of a key count as an operator's unless a
-- management key has made, rotated, changed or disabled the key.

alter table api_keys add column operator_limits jsonb not null default '{}' check (jsonb_typeof(operator_limits) = 'object');

update api_keys k set operator_limits = jsonb_strip_nulls(jsonb_build_object(
    'disabled', case when k.status = 'disabled' then true end,
    'expiresAt', to_char(k.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'models', to_jsonb(k.models),
    'spendLimit', case when k.spend_limit is not null then
      jsonb_build_object('amountNano', k.spend_limit::text, 'period', k.spend_period) end,
    'requestsPerMinute', k.requests_per_minute,
    'tokensPerMinute', k.tokens_per_minute))
where k.status <> 'revoked'
  and (k.status = 'disabled' or num_nonnulls(k.expires_at, k.models, k.spend_limit, k.requests_per_minute, k.tokens_per_minute) > 0)
  and not exists (
    select from admin_audit a
    where a.role = 'account' and (
      (a.action = 'createKey' and a.target = k.id::text)
      or (a.action = 'rotateKey' and a.target = k.rotated_from::text)
      or (a.action in ('changeKey', 'disableKey') and a.target = k.id::text)));
