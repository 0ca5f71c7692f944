import type { Mutant } from './money-mutants.ts'

/** Plausible mistakes in the short functions for batches. Histories reveal them. */
export const PLAIN_MUTANTS: readonly Mutant[] = [
  {
    name: 'a plain reserve holds for its replay again',
    of: 'reserve_plain',
    edits: [['order by n.id', 'order by n.id on conflict do nothing']],
  },
  {
    name: 'a plain reserve works with a key that is switched off',
    of: 'reserve_plain',
    edits: [["k.status = 'active' and", '']],
  },
  {
    name: 'a plain reserve works with an expired key',
    of: 'reserve_plain',
    edits: [['(k.expires_at is null or k.expires_at > at)', 'true']],
  },
  {
    name: 'a plain reserve works for a closed account',
    of: 'reserve_plain',
    edits: [["a.status <> 'active' or", '']],
  },
  {
    name: 'a plain reserve ignores the limit of the key',
    of: 'reserve_plain',
    edits: [['num_nonnulls(k.spend_limit,', 'num_nonnulls(']],
  },
  {
    name: 'a plain reserve ignores the requests per minute',
    of: 'reserve_plain',
    edits: [['k.requests_per_minute, ', '']],
  },
  {
    name: 'a plain reserve ignores the tokens per minute',
    of: 'reserve_plain',
    edits: [[', k.tokens_per_minute)', ')']],
  },
  {
    name: 'a plain reserve ignores the models of the key',
    of: 'reserve_plain',
    edits: [['and (k.models is null or m.id = any (k.models))', '']],
  },
  {
    name: 'a price is in force before its time for a plain reserve',
    of: 'reserve_plain',
    edits: [['and v.effective_from <= at', '']],
  },
  {
    name: 'a plain reserve spends what is held already',
    of: 'reserve_plain',
    edits: [['a.posted - a.held < w.needed', 'a.posted < w.needed']],
  },
  {
    name: 'a plain reserve looks at each call of an account alone',
    of: 'reserve_plain',
    edits: [
      [
        'a.posted - a.held < w.needed',
        'a.posted - a.held < (select max(y.needed) from known y where y.account_id = a.id)',
      ],
    ],
  },
  {
    name: 'a plain reserve leaves no rest for holds that would grow',
    of: 'reserve_plain',
    edits: [[' + w.rest', '']],
  },
  {
    name: 'a plain reserve does some calls of a batch',
    of: 'reserve_plain',
    edits: [['where (select count(*) from known) = cardinality(ids)\n      and', 'where']],
  },
  {
    name: 'a plain reserve does not hold its amount',
    of: 'reserve_plain',
    edits: [['set held = a.held + w.needed', 'set held = a.held']],
  },
  {
    name: 'a plain reserve takes the limits of one choice for all',
    of: 'reserve_plain',
    edits: [['c.input, coalesce(c.choice_count, 1)) as granted', 'c.input, 1) as granted']],
  },
  {
    name: 'a plain reserve leaves a batch to the full one without its choices',
    of: 'reserve_plain',
    edits: [['choices => choices', 'choices => null']],
  },
  {
    name: 'a plain reserve keeps no grace',
    of: 'reserve_plain',
    edits: [['n.deadline + grace', 'n.deadline']],
  },
  {
    name: 'a plain settlement charges a hold that is closed',
    of: 'settle_plain',
    edits: [["and r.state = 'held'", '']],
  },
  {
    name: 'a plain settlement ignores the budget of the key',
    of: 'settle_plain',
    edits: [['and r.budget_period is null', '']],
  },
  {
    name: 'a plain settlement ignores the rate of the key',
    of: 'settle_plain',
    edits: [['and r.rate_minute is null', '']],
  },
  {
    name: 'a plain charge may exceed its hold',
    of: 'settle_plain',
    edits: [['where cost <= amount', 'where true']],
  },
  {
    name: 'a plain settlement does some entries of a batch',
    of: 'settle_plain',
    edits: [
      [
        'where (select count(distinct id) from priced where cost <= amount) = cardinality(ids)',
        'where cost <= amount',
      ],
    ],
  },
  {
    name: 'a plain settlement does not count the free tokens of a fault',
    of: 'settle_plain',
    edits: [["and not (e.outcome = 'fault' and e.prompt + e.completion > 0)", '']],
  },
  {
    name: 'a plain settlement asks the price of now',
    of: 'settle_plain',
    edits: [
      [
        'join price_versions p on p.id = r.price_version',
        `join lateral (
           select * from price_versions v where v.model = r.model and v.effective_from <= at
           order by v.effective_from desc limit 1
         ) p on true`,
      ],
    ],
  },
  {
    name: 'a plain settlement takes cached tokens for others',
    of: 'settle_plain',
    edits: [['e.prompt - e.cached, e.cached, e.completion', 'e.prompt, 0, e.completion']],
  },
  {
    name: 'a plain charge is not in the ledger',
    of: 'settle_plain',
    edits: [['where n.cost > 0', 'where false']],
  },
  {
    name: 'a plain settlement keeps the rest of the hold',
    of: 'settle_plain',
    edits: [['sum(amount)::bigint as amount', 'sum(cost)::bigint as amount']],
  },
  {
    name: 'a plain settlement leaves its hold open',
    of: 'settle_plain',
    edits: [["set state = 'settled', closed_at = at", 'set closed_at = at']],
  },
]

/** Mutants that only parallel calls reveal. */
export const PLAIN_PARALLEL_MUTANTS = {
  noLockOfReserve: {
    name: 'a plain reserve reads the credits without the lock of the account',
    of: 'reserve_plain',
    edits: [['for no key update', '']],
  },
  noLockOfSettlement: {
    name: 'a plain settlement reads the holds without the lock of their account',
    of: 'settle_plain',
    edits: [['for no key update', '']],
  },
} as const satisfies Record<string, Mutant>
