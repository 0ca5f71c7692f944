import type { Mutant } from './money-mutants.ts'

/** Plausible mistakes in holds on small balances. Histories reveal them. */
export const ROLLING_MUTANTS: readonly Mutant[] = [
  {
    name: 'a reserve holds all wanted tokens as long as they can be paid',
    of: 'reserve',
    edits: [['affordable >= 8 * price_tokens(', 'affordable >= price_tokens(']],
  },
  {
    name: 'a reserve grants less than the least',
    of: 'reserve',
    edits: [['if answer.granted_output >= enough then', 'if answer.granted_output >= 0 then']],
  },
  {
    name: 'a reserve wants the least also where less is expected',
    of: 'reserve',
    edits: [['enough := least(target, coalesce(call.minimum, 0))', 'enough := coalesce(call.minimum, 0)']],
  },
  {
    name: 'a limit of a key that leaves less than the least is called a lack of credits',
    of: 'reserve',
    edits: [[') >= enough then', ') is null then']],
  },
  {
    name: 'a reserve calls its expectation a shortage of money',
    of: 'reserve',
    edits: [
      [
        'answer.was_clamped := answer.granted_output < target',
        'answer.was_clamped := answer.granted_output < most',
      ],
    ],
  },
]
