import { expect, test } from 'vitest'
import { runs } from '#test/support/long.ts'
import { listProblems } from '../../../support/billing-faults/list-problems.ts'

const SECONDS = Number(process.env['MILLRACE_FAULT_SECONDS'] ?? runs(20, 60))

test(
  'two replicas lose nothing and charge nothing wrong while they, PostgreSQL and Redis are killed',
  { timeout: (SECONDS + 240) * 1_000 },
  async () => {
    expect(await listProblems(SECONDS)).toEqual([])
  },
)
