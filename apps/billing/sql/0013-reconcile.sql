-- What must be true of the whole database. One row per question; every count must be zero.
create view reconciliation as
with entries as (
  select credit_account as account, amount from ledger
  union all
  select debit_account, -amount from ledger
), moved as (
  select account, sum(amount) as amount from entries group by account
), open_holds as (
  select account_id, sum(amount) as amount from reservations where state = 'held' group by account_id
)
select 'posted-differs-from-ledger' as name, count(*) as count
from accounts a left join moved m on m.account = a.id
where a.posted <> coalesce(m.amount, 0)
union all
select 'held-differs-from-open-holds', count(*)
from accounts a left join open_holds h on h.account_id = a.id
where a.held <> coalesce(h.amount, 0)
union all
select 'settled-without-usage', count(*)
from reservations r left join usage u on u.reservation_id = r.id
where r.state = 'settled' and u.reservation_id is null
union all
select 'usage-differs-from-ledger', count(*)
from usage u full join (select * from ledger where kind = 'charge') l on l.ref = u.reservation_id
where coalesce(u.charged, 0) <> coalesce(l.amount, 0) or u.account_id <> l.debit_account
union all
select 'usage-on-open-hold', count(*)
from usage u join reservations r on r.id = u.reservation_id
where r.state in ('held', 'expired')
union all
select 'usage-without-reservation', count(*)
from usage u left join reservations r on r.id = u.reservation_id
where r.account_id is distinct from u.account_id or r.price_version is distinct from u.price_version
union all
select 'negative-available', count(*) from accounts where posted - held < 0 or held < 0
union all
-- The sweeper frees them within seconds; five minutes leave it time to catch up after an outage.
select 'hold-overdue', count(*)
from reservations r join settlement_watermarks w on w.model = r.model
where r.state = 'held' and r.expires_at < w.watermark - interval '5 minutes 30 seconds'
union all
select 'cost-differs-from-price', count(*)
from usage u left join price_versions p on p.id = u.price_version
where u.cost is distinct from case
  when u.outcome in ('completed', 'cancelled') then price_tokens(
    u.prompt_tokens - u.cached_tokens, u.cached_tokens, u.completion_tokens,
    p.input_price, p.cached_input_price, p.output_price)
  else 0
end
union all
select 'topup-differs-from-ledger', count(*)
from topups t full join (select * from ledger where kind = 'topup') l on l.ref = t.id
where t.amount is distinct from l.amount or t.account_id is distinct from l.credit_account
union all
select 'ledger-of-unknown-account', count(*)
from moved m
where m.account not in (select id from accounts union all select id from system_accounts);
