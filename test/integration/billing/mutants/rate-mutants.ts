import type { Mutant } from './money-mutants.ts'

/** Plausible mistakes in the rates of keys. Histories reveal them. */
export const RATE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a request with several answers counts once in its minute',
    of: 'reserve',
    edits: [
      ['key_requests[call.key_number] + call.choice_count;', 'key_requests[call.key_number] + 1;'],
      ['sum(answers)::integer', 'count(*)::integer'],
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
    edits: [['if key_requests[call.key_number] > 0\n', 'if true\n']],
  },
  {
    name: 'a release gives one request back, whatever its answers',
    of: 'release',
    edits: [['coalesce(r.rate_requests, 1)', '1']],
  },
  {
    name: 'an extend ignores the rate of the key',
    of: 'extend',
    edits: [['if key_tokens[call.key_number] >= call.tokens_per_minute then', 'if false then']],
  },
  {
    name: 'an extend asks about the rate of an earlier minute',
    of: 'extend',
    edits: [['t.key_id = r.key_id and t.minute >= this_minute', 't.key_id = r.key_id']],
  },
  {
    name: 'an extend does not count in the rate',
    of: 'extend',
    edits: [['if call.rated then', 'if false then']],
  },
  {
    name: 'extends of one batch all see the same rate',
    of: 'extend',
    edits: [['key_tokens[call.key_number] + granted - call.granted_output', 'key_tokens[call.key_number]']],
  },
  {
    name: 'a replace does not count in the rate',
    of: 'replace',
    edits: [['if call.rated then', 'if false then']],
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
    name: 'a settlement gives a later minute the tokens of an earlier one',
    of: 'settle',
    edits: [['least(u.unused, rate_tokens)', 'u.unused']],
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
