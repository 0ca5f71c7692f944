import { expect, test } from 'vitest'
import { listProblems } from '../../../support/billing-faults/list-problems.ts'

// Two kills of Redis, three of PostgreSQL and one of both replicas at once; `npm run test:soak` goes on for 10 minutes.
const SECONDS = Number(process.env['MILLRACE_FAULT_SECONDS'] ?? 16)

test(
  'two replicas lose nothing and charge nothing wrong while they, PostgreSQL and Redis are killed',
  { timeout: (SECONDS + 240) * 1_000 },
  async () => {
    expect(await listProblems(SECONDS)).toEqual([])
  },
)
