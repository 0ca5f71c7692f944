import type { Mutant } from './money-mutants.ts'

// Plausible mistakes in the short functions for single calls.

/** Mutants that histories reveal. In a history, the calls run one after the other. */
export const SHORT_MUTANTS: readonly Mutant[] = [
  {
    name: 'a short reserve holds for its replay again',
    of: 'reserve_one',
    edits: [
      [
        'reserve_one.amount, false, reserve_one.deadline + reserve_one.grace, reserve_one.at\n      )',
        'reserve_one.amount, false, reserve_one.deadline + reserve_one.grace, reserve_one.at\n      ) on conflict do nothing',
      ],
    ],
  },
  {
    name: 'a short reserve works with a key that is switched off',
    of: 'reserve_one',
    edits: [["and k.status = 'active'", '']],
  },
  {
    name: 'a short reserve works with an expired key',
    of: 'reserve_one',
    edits: [['and (k.expires_at is null or k.expires_at > reserve_one.at)', '']],
  },
  {
    name: 'a short reserve works for a closed account',
    of: 'reserve_one',
    edits: [
      ["and a.status = 'active'\n      and a.posted", 'and a.posted'],
      ["and a.status = 'active' and a.posted", 'and a.posted'],
    ],
  },
  {
    name: 'a short reserve ignores the limit of the key',
    of: 'reserve_one',
    edits: [['num_nonnulls(k.spend_limit,', 'num_nonnulls(']],
  },
  {
    name: 'a short reserve ignores the requests per minute',
    of: 'reserve_one',
    edits: [['k.requests_per_minute, ', '']],
  },
  {
    name: 'a short reserve ignores the tokens per minute',
    of: 'reserve_one',
    edits: [[', k.tokens_per_minute)', ')']],
  },
  {
    name: 'a short reserve ignores the models of the key',
    of: 'reserve_one',
    edits: [['and (k.models is null or m.id = any (k.models))', '']],
  },
  {
    name: 'a price is in force before its time for a short reserve',
    of: 'reserve_one',
    edits: [['and v.effective_from <= reserve_one.at', '']],
  },
  {
    name: 'a short reserve spends what is held already',
    of: 'reserve_one',
    edits: [['and a.posted - a.held >= needed', 'and a.posted >= needed']],
  },
  {
    name: 'a short reserve does not hold its amount',
    of: 'reserve_one',
    edits: [['set held = a.held + needed', 'set held = a.held']],
  },
  {
    name: 'a short reserve holds all wanted tokens as long as they can be paid',
    of: 'reserve_one',
    edits: [['then 1 else 8 end', 'then 1 else 1 end']],
  },
  {
    name: 'a short reserve of the expected tokens spends what is held already',
    of: 'reserve_one',
    edits: [['a.posted - a.held >= part', 'a.posted >= part']],
  },
  {
    name: 'a short reserve of the expected tokens does not hold its amount',
    of: 'reserve_one',
    edits: [['set held = a.held + part', 'set held = a.held']],
  },
  {
    name: 'a short reserve of the expected tokens grants all wanted ones',
    of: 'reserve_one',
    edits: [['reserve_one.granted_output := target;', '']],
  },
  {
    name: 'a short reserve takes the limits of one choice for all',
    of: 'reserve_one',
    edits: [['reserve_one.input, reserve_one.choices) as granted', 'reserve_one.input, 1) as granted']],
  },
  {
    name: 'a short reserve leaves a call to the full one without its choices',
    of: 'reserve_one',
    edits: [['choices => array[reserve_one.choices]', 'choices => array[1]']],
  },
  {
    name: 'a short reserve keeps no grace',
    of: 'reserve_one',
    edits: [['reserve_one.deadline + reserve_one.grace', 'reserve_one.deadline']],
  },
  {
    name: 'a short settlement charges a hold that is closed',
    of: 'settle_one',
    edits: [["and r.state = 'held'", '']],
  },
  {
    name: 'a short settlement ignores the budget of the key',
    of: 'settle_one',
    edits: [['and r.budget_period is null', '']],
  },
  {
    name: 'a short settlement ignores the rate of the key',
    of: 'settle_one',
    edits: [['and r.rate_minute is null', '']],
  },
  {
    name: 'a short charge may exceed its hold',
    of: 'settle_one',
    edits: [['where cost <= amount', 'where true']],
  },
  {
    name: 'a short settlement does not count the free tokens of a fault',
    of: 'settle_one',
    edits: [["and not (settle_one.outcome = 'fault' and prompt + completion > 0)", '']],
  },
  {
    name: 'a short settlement asks the price of now',
    of: 'settle_one',
    edits: [
      [
        'join price_versions p on p.id = r.price_version',
        `join lateral (
           select * from price_versions v where v.model = r.model and v.effective_from <= settle_one.at
           order by v.effective_from desc limit 1
         ) p on true`,
      ],
    ],
  },
  {
    name: 'a short settlement takes cached tokens for others',
    of: 'settle_one',
    edits: [['price_tokens(prompt - cached, cached,', 'price_tokens(prompt, 0,']],
  },
  {
    name: 'a short charge is not in the ledger',
    of: 'settle_one',
    edits: [['where n.cost > 0', 'where false']],
  },
  {
    name: 'a short settlement keeps the rest of the hold',
    of: 'settle_one',
    edits: [['held = a.held - n.amount', 'held = a.held - n.cost']],
  },
  {
    name: 'a short settlement leaves its hold open',
    of: 'settle_one',
    edits: [["set state = 'settled', closed_at = at", 'set closed_at = at']],
  },
]

/** Mutants that only parallel calls reveal. */
export const SHORT_PARALLEL_MUTANTS = {
  /** With this mistake, the rows that were read before the lock decide. */
  guardApart: {
    name: 'a short reserve checks the credits before its update',
    of: 'reserve_one',
    edits: [
      ['and a.posted - a.held >= needed * case when target is null then 1 else 8 end', ''],
      [
        'where k.id = reserve_one.key_id and',
        `where (select a.posted - a.held from accounts a where a.id = k.account_id) >= price_tokens(
           reserve_one.input, 0, g.granted, p.input_price, p.cached_input_price, p.output_price)
         and k.id = reserve_one.key_id and`,
      ],
    ],
  },
  noLock: {
    name: 'a short settlement reads the hold without the lock of its account',
    of: 'settle_one',
    edits: [['for no key update', '']],
  },
} as const satisfies Record<string, Mutant>
