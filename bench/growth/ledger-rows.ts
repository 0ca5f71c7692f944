/** The number of rows of one statement. Such a statement takes seconds, and its temporary table fits into memory. */
const PORTION = 500_000

/**
 * Adds `rows` settled requests to a database of billing that has keys and a price of `model`. The requests are evenly
 * spaced from `fromMs` to `untilMs`, each with its reservation, usage and ledger entry. Makes the partitions of all
 * months of this period. Numbers and ids are as billing would give them, so the reconciliation still finds nothing.
 * `run` runs statements one after the other in one session without time limits. Takes about a minute for a million rows
 * on two cores.
 *
 * Every request has 100 tokens of input and 100 of output. The keys make the requests in turn. Each request is charged
 * to the account of its key, which must have enough credits.
 */
export async function addLedgerRows(
  run: (statements: readonly string[]) => Promise<unknown>,
  options: { rows: number; fromMs: number; untilMs: number; model: string },
): Promise<void> {
  const { rows, fromMs, untilMs, model } = options
  const stepMs = (untilMs - fromMs) / rows
  await run(prepareMonths(fromMs, untilMs))
  for (let first = 0; first < rows; first += PORTION) {
    const last = Math.min(first + PORTION, rows) - 1
    await run(addPortion({ first, last, fromMs, stepMs, model }))
  }
}

/** Returns the statements that make the partitions. Each call makes the partitions of its month and the next two. */
function prepareMonths(fromMs: number, untilMs: number): string[] {
  const statements: string[] = []
  const at = new Date(fromMs)
  at.setUTCDate(1)
  for (; at.getTime() <= untilMs; at.setUTCMonth(at.getUTCMonth() + 1)) {
    statements.push(`select prepare_months(at => '${at.toISOString()}')`)
  }
  return statements
}

function addPortion(portion: {
  first: number
  last: number
  fromMs: number
  stepMs: number
  model: string
}): string[] {
  const { first, last, fromMs, stepMs, model } = portion
  return [
    `create temporary table history as
      select n, t.at, k.account_id, k.id as key_id, p.id as price_version,
        price_tokens(100, 0, 100, p.input_price, p.cached_input_price, p.output_price)::bigint as cost,
        (substr(first_id(t.at)::text, 1, 13) || '-7' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3)
          || '-' || substr(md5(n::text), 7, 12))::uuid as id
      from generate_series(${first}, ${last}) as n
      join (select *, row_number() over (order by id) - 1 as place from api_keys) k
        on k.place = n % (select count(*) from api_keys)
      join (select * from price_versions where model = '${model}' order by id limit 1) p on true
      cross join lateral (
        select to_timestamp(${fromMs / 1_000} + n * ${stepMs / 1_000}) as at
      ) t`,
    `insert into reservations (
        id, state, key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
        amount, clamped, expires_at, created_at, closed_at
      )
      select id, 'settled', key_id, '${model}', 100, 100, at, account_id, price_version, 100, cost, false, at, at, at
      from history order by n`,
    `insert into usage (
        reservation_id, account_id, key_id, model, price_version, epoch, outcome, prompt_tokens, cached_tokens,
        completion_tokens, cost, charged, late, settled_by, settled_at
      )
      select id, account_id, key_id, '${model}', price_version, 1, 'completed', 100, 0, 100, cost, cost, false, 'bench', at
      from history order by n`,
    // If several statements add rows of one month, each statement continues the `seq` numbers of the statement before
    // it. The numbers are given here, not by the identity column.
    `insert into ledger (seq, kind, ref, debit_account, credit_account, amount, posted_at) overriding system value
      select greatest(first_seq(h.month), coalesce(m.reached, 0)) + row_number() over (partition by h.month order by h.n),
        'charge', h.id, h.account_id, s.id, h.cost, h.at
      from (select *, month_start(at, 0) as month from history) h
      join lateral (
        select max(seq) as reached from ledger
        where seq >= first_seq(h.month) and seq < first_seq(month_start(h.month, 1))
      ) m on true, system_accounts s
      where s.name = 'revenue'`,
    `select setval(pg_get_serial_sequence('ledger', 'seq'), (select max(seq) from ledger))`,
    `update accounts a set posted = posted - h.spent
      from (select account_id, sum(cost)::bigint as spent from history group by account_id) h where a.id = h.account_id`,
    'drop table history',
  ]
}
