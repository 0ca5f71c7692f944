-- Makes the present period of a key's spend limit count what the key has spent in it so far. It is called when the key gets
-- a spend limit, and when the kind of its period changes.
--
-- In:  key (its id); charged: what the key was charged since the period began, by its usage; at (now).
-- Out: nothing. Without a spend limit nothing changes.
--
-- The caller has locked the account since before it read `charged`, so no charge is missed or counted twice. Open holds
-- that were made in the period move to it, with their later charges. Charges of settled reservations stay in the row of
-- the period that has counted them, if there is one, and are counted in the present period as well.
create or replace function count_period(key uuid, charged numeric, at timestamptz) returns void language plpgsql as $$
declare
  starts timestamptz;
  account uuid;
  own bigint; -- charges of reservations with this period
  known numeric; -- charges of reservations with this period, or with another one that began in it
begin
  select period_start(k.spend_period, count_period.at), k.account_id into starts, account
  from api_keys k where k.id = count_period.key;
  if starts is null then
    return;
  end if;

  with moved as (
    update reservations r set budget_period = starts
    from (
      select o.id, o.budget_period from reservations o
      where o.account_id = account and o.state = 'held' and o.key_id = count_period.key and o.created_at >= starts
        and o.budget_period is distinct from starts
    ) o
    where r.id = o.id
    returning r.amount, o.budget_period as earlier
  ), freed as (
    update key_budgets b set held = b.held - m.amount
    from (select earlier, sum(amount)::bigint as amount from moved where earlier is not null group by earlier) m
    where b.key_id = count_period.key and b.period_start = m.earlier
  )
  insert into key_budgets as b (key_id, period_start, held)
  select count_period.key, starts, coalesce(sum(amount), 0)::bigint from moved
  on conflict (key_id, period_start) do update set held = b.held + excluded.held;

  select sum(b.spent - b.counted) filter (where b.period_start = starts), sum(b.spent - b.counted) into own, known
  from key_budgets b where b.key_id = count_period.key and b.period_start >= starts;
  update key_budgets b set
    spent = greatest(count_period.charged, known), counted = greatest(count_period.charged, known) - own
  where b.key_id = count_period.key and b.period_start = starts;
end
$$;
