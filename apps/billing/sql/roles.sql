-- The role that the service works as. It owns nothing, cannot log in, and has only the rights that `apps/billing`
-- needs: it cannot change, delete from or empty an append-only table, nor switch a trigger off. It has no rights on a
-- new table until they are granted here. `database/service-rights.ts` reads the rights from this file.
--
-- Roles belong to the whole server: another database's migration may create this role at the same moment.
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
          hint = format(
            'As an administrator: create role millrace_service; grant millrace_service to %I;', session_user);
    end;
  end if;

  -- A login that is no superuser may grant a role that it created. It cannot work as the role until it has granted the
  -- role to itself.
  if not pg_has_role(session_user, 'millrace_service', may_work_as) then
    begin
      grant millrace_service to session_user;
    exception when insufficient_privilege then
      -- Only the service's login needs the grant. If the migrating login is also the service's, its first connection
      -- reports the error.
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
  on accounts, api_keys, key_budgets, key_rates, models, catalog_file, reservations, settlement_watermarks,
    admin_credentials, late_usage, management_keys
  to millrace_service;
grant select, update on change_counters, cell to millrace_service;

-- Written once; old months are dropped by forget_timings.
grant select, insert on request_timings to millrace_service;

-- Old rows are deleted.
grant select, insert, delete on reconciliation_runs, key_requests to millrace_service;
grant select, insert, update, delete on admin_sessions to millrace_service;

-- Written by migrations, or by the functions below, which run with their owner's rights.
grant select
  on system_accounts, ledger_seals, sealed_balances, schema_parts, ledger_archives, archived_balances,
    archived_spending, carried_entries, usage_hours, usage_hours_end
  to millrace_service;
revoke execute on function seal_ledger(timestamptz), prepare_months(timestamptz), forget_timings(timestamptz),
  roll_usage(timestamptz), archive_problem, archive_month from public;

-- PostgreSQL lets everyone execute a new function, unless the database's defaults take this right away.
do $$
declare
  own regprocedure;
begin
  for own in
    select p.oid from pg_proc p join pg_roles r on r.oid = p.proowner
    where p.pronamespace = current_schema()::regnamespace and r.rolname = current_user
      and p.prorettype <> 'trigger'::regtype
  loop
    execute format('grant execute on function %s to millrace_service', own);
  end loop;
end
$$;
