-- The role that the service works as. It owns nothing, cannot log in, and may do what `apps/billing` does and no more:
-- what is append-only cannot be changed, deleted or emptied by it, and it can switch no trigger off. A table that a
-- later migration makes is closed to it until that migration grants what is needed.
--
-- Roles belong to the whole server: another database's migration may make this one at the same moment.
do $$
declare
  may_work_as text := case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end;
begin
  if not exists (select from pg_roles where rolname = 'millrace_service') then
    begin
      create role millrace_service nologin;
    exception
      when duplicate_object or unique_violation then
        null;
      when insufficient_privilege then
        raise exception 'the role millrace_service is missing, and % may not create it', session_user using
          errcode = 'insufficient_privilege',
          hint = format('As an administrator: create role millrace_service; grant millrace_service to %I;', session_user);
    end;
  end if;

  -- A login that is no superuser made a role that it may give away and not yet work as.
  if not pg_has_role(session_user, 'millrace_service', may_work_as) then
    begin
      grant millrace_service to session_user;
    exception when insufficient_privilege then
      -- Only the service's login needs it. If that is this one, its first connection says what it lacks.
      raise notice '% cannot work as millrace_service', session_user;
    end;
  end if;

  execute format('grant usage on schema %I to millrace_service', current_schema());
end
$$;

-- Append-only.
grant select, insert
  on price_versions, ledger, topups, adjustments, usage, settlement_alarms, admin_audit to millrace_service;

-- Changed, and never deleted from.
grant select, insert, update
  on accounts, api_keys, key_budgets, key_rates, models, reservations, settlement_watermarks, admin_credentials
  to millrace_service;
grant select, update on change_counters to millrace_service;

-- Written by migrations, or by seal_ledger_v1.
grant select on system_accounts, ledger_seals, sealed_balances, reconciliation to millrace_service;

-- It works with its owner's rights, and so on its owner's tables, whatever its caller's search path.
revoke execute on function seal_ledger_v1(timestamptz) from public;
grant execute on function seal_ledger_v1(timestamptz) to millrace_service;
do $$
begin
  execute format('alter function seal_ledger_v1 set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
