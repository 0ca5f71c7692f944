// Plausible mistakes in the money functions, each as a change of their source.

export type Mutant = {
  /** A description of the mistake. */
  readonly name: string
  /** The function that has the mistake. */
  readonly of: string
  /** Each `from` occurs exactly once in the source and is replaced by `to`. */
  readonly edits: readonly (readonly [from: string, to: string])[]
}

/** Takes the price of now, as if a reservation did not store its price version. */
export const PRICE_OF_NOW = `left join lateral (
      select * from price_versions v where v.model = r.model and v.effective_from <= at
      order by v.effective_from desc limit 1
    ) p on true`

/** Mutants that histories reveal. In a history, the calls run one after the other. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a reserve does not recognize its replay',
    of: 'reserve',
    edits: [['if call.state is not null then', 'if false then']],
  },
  {
    name: 'a reserve ignores the fingerprint',
    of: 'reserve',
    edits: [["if call.state = 'held' and call.same_call then", "if call.state = 'held' then"]],
  },
  {
    name: 'a reserve does not check the key again',
    of: 'reserve',
    edits: [['if call.key_works is not true then', 'if call.account_id is null then']],
  },
  {
    name: 'a reserve ignores the limit of the key',
    of: 'reserve',
    edits: [['least(free, key_frees[call.key_number])', 'free']],
  },
  {
    name: 'a reserve ignores the models of the key',
    of: 'reserve',
    edits: [['and (k.models is null or m.id = any (k.models))', '']],
  },
  {
    name: 'the rate of a key is never reset',
    of: 'reserve',
    edits: [['t.key_id = k.id and t.minute >= this_minute', 't.key_id = k.id']],
  },
  {
    name: 'the rate of a key forgets the requests of earlier batches',
    of: 'reserve',
    edits: [['coalesce(t.requests, 0)', '0']],
  },
  {
    name: 'a price is in force before its time',
    of: 'reserve',
    edits: [['v.model = m.id and v.effective_from <= at', 'v.model = m.id']],
  },
  {
    name: 'calls of one batch all spend the same credits',
    of: 'reserve',
    edits: [['free := free - needed;', '']],
  },
  {
    name: 'every period of a budget is a day',
    of: 'period_start',
    edits: [["date_trunc(period, at, 'UTC')", "date_trunc('day', at, 'UTC')"]],
  },
  {
    name: 'a grant is one token more than can be paid',
    of: 'affordable_output',
    edits: [['input_price, output_price))::integer', 'input_price, output_price) + 1)::integer']],
  },
  {
    name: 'amounts are rounded down',
    of: 'price_tokens',
    edits: [['output_price + 999999', 'output_price']],
  },
  {
    name: 'a replace works twice',
    of: 'replace',
    edits: [
      ['or (call.replaced_before and not call.same_call)', ''],
      ['if call.replaced_before then', 'if call.replaced_before and call.same_call then'],
    ],
  },
  {
    name: 'a replace asks the price of now',
    of: 'replace',
    edits: [
      [
        'left join models m on m.id = r.model\n    left join price_versions p on p.id = r.price_version',
        `left join models m on m.id = r.model\n    ${PRICE_OF_NOW}`,
      ],
    ],
  },
  {
    name: 'an extend takes its wish for a difference',
    of: 'extend',
    edits: [['output_limit(c.output,', 'output_limit(c.output + r.granted_output,']],
  },
  {
    name: 'an extend takes the difference twice',
    of: 'extend',
    edits: [['held = a.held + d.difference', 'held = a.held + 2 * d.difference']],
  },
  {
    name: 'an extend moves the deadline back',
    of: 'extend',
    edits: [
      [
        'ends[call.n] := greatest(call.held_deadline, call.deadline)',
        'ends[call.n] := coalesce(call.deadline, call.held_deadline)',
      ],
      ['expires_at = greatest(r.expires_at, ends[n] + grace)', 'expires_at = ends[n] + grace'],
    ],
  },
  {
    name: 'an extend of a later deadline does not keep the hold',
    of: 'extend',
    edits: [['expires_at = greatest(r.expires_at, ends[n] + grace)', 'expires_at = r.expires_at']],
  },
  {
    name: 'an extend revives a hold that has ended',
    of: 'extend',
    edits: [["if call.state is distinct from 'held' then", 'if call.state is null then']],
  },
  {
    name: 'a release gives back twice',
    of: 'release',
    edits: [["and r.state not in ('settled', 'released', 'expired') and r.account_id", 'and r.account_id']],
  },
  {
    name: 'a release of an unknown id leaves no trace',
    of: 'release',
    edits: [['where (select r.id from reservation_of(u.id, low, high) r) is null', 'where false']],
  },
  {
    name: 'a release does not free the budget',
    of: 'release',
    edits: [['set held = b.held - g.amount', 'set held = b.held']],
  },
  {
    name: 'a release does not give the rate back',
    of: 'release',
    edits: [['t.minute = g.rate_minute', 'false']],
  },
  {
    name: 'a settlement does not recognize its replay',
    of: 'settle',
    edits: [
      [
        'select true from usage u where u.reservation_id = e.id and',
        'select true from usage u where false and u.reservation_id = e.id and',
      ],
    ],
  },
  {
    name: 'a charge may exceed its hold',
    of: 'settle',
    edits: [
      [
        'least(costs[entry.n], greatest(entry.amount, least(entry.signed_amount, posted - held)))',
        'least(costs[entry.n], posted - held)',
      ],
    ],
  },
  {
    name: 'a late charge may exceed what was held',
    of: 'settle',
    edits: [
      [
        'least(costs[entry.n], greatest(entry.amount, entry.signed_amount), posted - held)',
        'least(costs[entry.n], posted - held)',
      ],
    ],
  },
  {
    name: 'a hold that grew is not known from its receipt',
    of: 'settle',
    edits: [["then (e.receipt ->> 'amountNano')::bigint else 0", 'then 0 else 0']],
  },
  {
    name: 'a receipt of another account makes a hold larger',
    of: 'settle',
    edits: [["(e.receipt ->> 'accountId')::uuid = r.account_id and", '']],
  },
  {
    name: 'a late settlement is free',
    of: 'settle',
    edits: [['least(costs[entry.n], greatest(entry.amount, entry.signed_amount), posted - held)', '0']],
  },
  {
    name: 'a fault is charged',
    of: 'settle',
    edits: [["paid := entry.outcome in ('completed', 'cancelled')", "paid := entry.outcome <> 'never-ran'"]],
  },
  {
    name: 'a settlement asks the price of now',
    of: 'settle',
    edits: [
      [
        'join price_versions p on p.id = r.price_version\n    where e.ord = e.first',
        `${PRICE_OF_NOW}\n    where e.ord = e.first`,
      ],
    ],
  },
  {
    name: 'the unpaid part of a cost is not written off',
    of: 'settle',
    edits: [['where costs[n] > charges[n] and', 'where false and']],
  },
  {
    name: 'a settlement does not free the budget',
    of: 'settle',
    edits: [['set held = b.held - s.freed, spent', 'set held = b.held, spent']],
  },
  {
    name: 'a charge does not count in the budget',
    of: 'settle',
    edits: [['spent = b.spent + s.charged', 'spent = b.spent']],
  },
  {
    name: 'a settlement after a release gives the rate back once more',
    of: 'settle',
    edits: [
      ["where rate_minute is not null and state in ('held', 'expired')", 'where rate_minute is not null'],
    ],
  },
  {
    name: 'a receipt of an unknown account is believed',
    of: 'settle',
    edits: [["where (x ->> 'accountId')::uuid = any (locked)", 'where x is not null']],
  },
  {
    name: 'a receipt of an unknown price is believed',
    of: 'settle',
    edits: [["x ->> 'model' and is_price_of_receipt(x, p)", "x ->> 'model'"]],
  },
  {
    name: 'a receipt names its price by the number alone',
    of: 'is_price_of_receipt',
    edits: [
      ["price.input_price = (receipt ->> 'inputPriceNano')", "price.id = (receipt ->> 'priceVersion')"],
      ["and price.cached_input_price = (receipt ->> 'cachedInputPriceNano')::bigint", ''],
      ["and price.output_price = (receipt ->> 'outputPriceNano')::bigint", ''],
    ],
  },
  {
    name: 'a recovered charge counts in no budget',
    of: 'settle',
    edits: [
      ["period_start(k.spend_period, least((x ->> 'deadline')::timestamptz, at))", 'null::timestamptz'],
    ],
  },
  {
    name: 'a receipt is no use',
    of: 'settle',
    edits: [['order by f.id, f.ord', 'order by f.id, f.ord limit 0']],
  },
  {
    name: 'a hold expires half a minute early',
    of: 'expire',
    edits: [
      [
        "r.expires_at < w.watermark - interval '30 seconds'\n    order by",
        'r.expires_at < w.watermark\n    order by',
      ],
      [
        "and r.expires_at < w.watermark - interval '30 seconds'\n    returning",
        'and r.expires_at < w.watermark\n    returning',
      ],
    ],
  },
  {
    name: 'an expiry does not free the budget',
    of: 'expire',
    edits: [['set held = b.held - g.amount', 'set held = b.held']],
  },
  {
    name: 'an adjustment takes held credits',
    of: 'adjust',
    edits: [['balance.posted - balance.held + amount < 0', 'balance.posted + amount < 0']],
  },
]

/** Mutants that only parallel calls reveal. */
export const PARALLEL_MUTANTS = {
  /** With this mistake, the account's row is newer than the rows that are counted with it. */
  snapshotTrap: {
    name: 'a reserve locks and reads in one statement',
    of: 'reserve',
    edits: [
      ['where k.id = any (key_ids))\n  order by', 'where false)\n  order by'],
      [
        'left join accounts a on a.id = k.account_id',
        'left join lateral (select * from accounts x where x.id = k.account_id for no key update) a on true',
      ],
    ],
  },
  noSecondLook: {
    name: 'an expiry does not check again once it has its locks',
    of: 'expire',
    edits: [["and r.expires_at < w.watermark - interval '30 seconds'\n    returning", 'returning']],
  },
} as const satisfies Record<string, Mutant>
