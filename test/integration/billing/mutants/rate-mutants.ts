import type { Mutant } from './money-mutants.ts'

/** Plausible mistakes in the rates of keys. Histories reveal them. */
export const RATE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a request with several answers counts once in its minute',
    of: 'reserve',
    edits: [
      ['key_requests[place] + call.choice_count;', 'key_requests[place] + 1;'],
      ['sum(rate_requests)::integer', 'count(*)::integer'],
    ],
  },
  {
    name: 'a request may exceed the limit of requests by its answers',
    of: 'reserve',
    edits: [['+ call.choice_count > call.requests_per_minute', '+ 1 > call.requests_per_minute']],
  },
  {
    name: 'a request with more answers than the limit is never granted',
    of: 'reserve',
    edits: [['elsif key_requests[place] > 0 and', 'elsif true and']],
  },
  {
    name: 'a release gives one request back, whatever its answers',
    of: 'release',
    edits: [['coalesce(r.rate_requests, 1)', '1']],
  },
  {
    name: 'a resize ignores the rate of the key',
    of: 'resize',
    edits: [
      [
        'elsif call.input is null and key_tokens[call.key_number] >= call.tokens_per_minute then',
        'elsif false then',
      ],
    ],
  },
  {
    name: 'a resize asks about the rate of an earlier minute',
    of: 'resize',
    edits: [['t.key_id = r.key_id and t.minute >= this_minute', 't.key_id = r.key_id']],
  },
  {
    name: 'a resize does not count in the rate',
    of: 'resize',
    edits: [['if call.rated then', 'if false then']],
  },
  {
    name: 'resizes of one batch all see the same rate',
    of: 'resize',
    edits: [['+ case when growth > 0 or', '+ 0 * case when growth > 0 or']],
  },
  {
    name: 'growth counts in the minute of the grant alone',
    of: 'count_growth',
    edits: [
      [
        '    where u.tokens > 0 or r.rate_minute = this_minute\n    group',
        '    where r.rate_minute = this_minute\n    group',
      ],
    ],
  },
  {
    name: 'growth in a later minute keeps the requests of the earlier one',
    of: 'count_growth',
    edits: [
      ['requests = case when t.minute >= this_minute then t.requests else 0 end,', 'requests = t.requests,'],
    ],
  },
  {
    name: 'a settlement corrects a minute that did not count the hold',
    of: 'settle',
    edits: [['where u.unused > 0 and rate_minute = k.minute', 'where u.unused > 0']],
  },
  {
    name: 'tokens that were not counted before do not count at the settlement',
    of: 'settle',
    edits: [['sum(greatest(-u.unused, 0))::bigint', '0']],
  },
]
