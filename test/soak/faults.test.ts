import { expect, test } from 'vitest'
import { listProblems } from '../support/billing-faults/list-problems.ts'

const SECONDS = Number(process.env['MILLRACE_FAULT_SECONDS'] ?? 600)

test(
  'two replicas lose nothing and charge nothing wrong in ten minutes of kills',
  { timeout: (SECONDS + 600) * 1_000 },
  async () => {
    expect(await listProblems(SECONDS)).toEqual([])
  },
)
