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
    edits: [["call.state = 'held' and call.same_call then", "call.state = 'held' then"]],
  },
  {
    name: 'a reserve does not check the key again',
    of: 'reserve',
    edits: [['elsif call.key_works is not true then', 'elsif call.account_id is null then']],
  },
  {
    name: 'a reserve ignores the limit of the key',
    of: 'reserve',
    edits: [['least(free, key_frees[place])', 'free']],
  },
  {
    name: 'a reserve ignores the models of the key',
    of: 'reserve',
    edits: [['and (k.models is null or m.id = any (k.models))', '']],
  },
  {
    name: 'the rate of a key is never reset',
    of: 'reserve',
    edits: [['end and t.minute >= this_minute', 'end']],
  },
  {
    name: 'the rate of a key forgets the requests of earlier batches',
    of: 'reserve',
    edits: [['coalesce(t.requests, 0)', '0']],
  },
  {
    name: 'a price is in force before its time',
    of: 'reserve',
    edits: [['r.price_version), at)', "r.price_version), 'infinity')"]],
  },
  {
    name: 'calls of one batch all spend the same credits',
    of: 'reserve',
    edits: [['free := free - answer.amount;', '']],
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
    name: 'a resize takes a counted input twice',
    of: 'resize',
    edits: [['elsif call.input is not null and hold.exact_input is not null then', 'elsif false then']],
  },
  {
    name: 'a resize takes its wish for a difference',
    of: 'resize',
    edits: [['output_limit(call.output,', 'output_limit(call.output + hold.granted_output,']],
  },
  {
    name: 'a resize takes the difference twice',
    of: 'resize',
    edits: [['held = a.held + d.difference', 'held = a.held + 2 * d.difference']],
  },
  {
    name: 'a resize moves the deadline back',
    of: 'resize',
    edits: [
      [
        'greatest(hold.deadline, hold.extended_deadline, call.deadline)',
        'coalesce(call.deadline, hold.extended_deadline, hold.deadline)',
      ],
      ['greatest(hold.expires_at, hold.extended_deadline + grace)', 'hold.extended_deadline + grace'],
    ],
  },
  {
    name: 'a resize to a later deadline does not keep the hold',
    of: 'resize',
    edits: [['greatest(hold.expires_at, hold.extended_deadline + grace)', 'hold.expires_at']],
  },
  {
    name: 'a resize revives a hold that has ended',
    of: 'resize',
    edits: [["if hold.state is distinct from 'held' then", 'if hold.state is null then']],
  },
  {
    name: 'a reserve works for a closed account',
    of: 'reserve',
    edits: [["and a.status = 'active' and", 'and']],
  },
  {
    name: 'a reserve works with an expired key',
    of: 'reserve',
    edits: [['and (k.expires_at is null or k.expires_at > at) as key_works', 'as key_works']],
  },
  {
    name: 'a reserve does not hold its amount',
    of: 'reserve',
    edits: [['set held = a.held + h.amount', 'set held = a.held']],
  },
  {
    name: 'a reserve keeps no grace',
    of: 'reserve',
    edits: [['call.deadline + grace', 'call.deadline']],
  },
  {
    name: 'a repeated reserve is refused because of its own hold',
    of: 'reserve',
    edits: [['elsif not known then', 'elsif false then']],
  },
  {
    name: 'a repeated reserve asks the price of now',
    of: 'reserve',
    edits: [['where h.id = r.price_version)', 'where false)']],
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
  noLock: {
    name: 'a settlement reads the holds without the lock of their account',
    of: 'settle',
    edits: [['for no key update', '']],
  },
  noSecondLook: {
    name: 'an expiry does not check again once it has its locks',
    of: 'expire',
    edits: [["and r.expires_at < w.watermark - interval '30 seconds'\n    returning", 'returning']],
  },
} as const satisfies Record<string, Mutant>
