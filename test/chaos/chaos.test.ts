import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { runChaos } from './run-chaos.ts'
import { SCOPES } from './schedule.ts'

const FAULTS = 20
/** Most of this time passes after the faults, while the test waits for holds and work of killed processes to end. */
const LIMIT_MS = 400_000

test(
  'no fault loses, doubles or changes a token, or charges for what did not arrive',
  { timeout: LIMIT_MS },
  async () => {
    const seed = Number(process.env['MILLRACE_CHAOS_SEED'] ?? randomInt(1, 1_000_000))
    console.log(`seed ${seed}`)
    const lines: string[] = []
    const { problems, tally } = await runChaos({
      seed,
      limitMs: 0,
      mostRounds: 1,
      faultsPerRound: FAULTS,
      meanGapMs: 1_800,
      clients: 12,
      scopes: SCOPES,
      keepGoing: false,
      strict: false,
      say: (line) => lines.push(line),
    })
    if (problems.length > 0) console.log(lines.join('\n'))
    expect(problems).toEqual([])
    expect(tally.faults()).toBeGreaterThan(FAULTS / 2)
    expect(tally.exact()).toBeGreaterThan(30)
  },
)
