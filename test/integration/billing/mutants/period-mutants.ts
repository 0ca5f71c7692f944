import type { Mutant } from './money-mutants.ts'

/** Mistakes in the spending that a limit counts when it is set, or when the kind of its period changes. */
export const PERIOD_MUTANTS: readonly Mutant[] = [
  {
    name: 'another kind of period forgets what was spent',
    of: 'count_period',
    edits: [
      ['spent = greatest(count_period.charged, known)', 'spent = own'],
      ['counted = greatest(count_period.charged, known) - own', 'counted = 0'],
    ],
  },
  {
    name: 'another kind of period counts what its own row had once more',
    of: 'count_period',
    edits: [
      [
        'spent = greatest(count_period.charged, known)',
        'spent = greatest(count_period.charged, known) + own',
      ],
      [
        'counted = greatest(count_period.charged, known) - own',
        'counted = greatest(count_period.charged, known)',
      ],
    ],
  },
  {
    name: 'another kind of period leaves open holds behind',
    of: 'count_period',
    edits: [['and o.budget_period is distinct from starts', 'and false']],
  },
  {
    name: 'another kind of period takes open holds of earlier periods',
    of: 'count_period',
    edits: [['and o.created_at >= starts', '']],
  },
  {
    name: 'a moved hold still counts in its earlier period',
    of: 'count_period',
    edits: [['set held = b.held - m.amount', 'set held = b.held']],
  },
]
