import { PRICE_OF_NOW, type Mutant } from './money-mutants.ts'

/** Plausible mistakes in settlements. Histories reveal them. */
export const SETTLE_MUTANTS: readonly Mutant[] = [
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
    name: 'a settlement takes cached tokens for others',
    of: 'settle',
    edits: [['price_tokens(e.prompt - e.cached, e.cached,', 'price_tokens(e.prompt, 0,']],
  },
  {
    name: 'a charge is not in the ledger',
    of: 'settle',
    edits: [['where charges[n] > 0 and', 'where false and']],
  },
  {
    name: 'a settlement keeps the rest of the hold',
    of: 'settle',
    edits: [['held = a.held - s.freed', 'held = a.held - s.charged']],
  },
  {
    name: 'a settlement leaves its hold open',
    of: 'settle',
    edits: [["set state = 'settled', closed_at = at", 'set closed_at = at']],
  },
  {
    name: 'a settlement does not ask for the receipt of a hold that does not pay',
    of: 'settle',
    edits: [["if receipts is null and (entry.state = 'expired'", "if false and (entry.state = 'expired'"]],
  },
  {
    name: 'a settlement does not ask for the receipt of an unknown hold',
    of: 'settle',
    edits: [['if receipts is null and cardinality(settling) < entries', 'if false']],
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
]
