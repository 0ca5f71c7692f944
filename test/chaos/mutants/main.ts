// `npm run chaos:mutants [-- --only TEXT]`: tests the chaos test. It runs a few faults on a cluster without a mistake,
// which must find no problem. Then it runs the same faults with each mutant in every app; one of a few runs must find a
// problem.
import { parseArgs } from 'node:util'
import { makeRunFolder, removeRunFolder, RUN_FOLDER_VARIABLE } from '../../support/run-folder.ts'
import { runChaos } from '../run-chaos.ts'
import { SCOPES } from '../schedule.ts'
import { mutantEnv } from './mutant-env.ts'
import { MUTANTS, readMutated, type Mutant } from './mutants.ts'

const SEED = 20_300_701
/**
 * It is chance whether a fault reveals a mistake: a mistake that needs a particular loss shows in three runs of four.
 */
const MOST_RUNS = 3
const CLIENTS = 14
/** Longer than billing waits until it claims the entries of a killed replica. */
const REST_LIMIT_MS = 50_000

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  },
})
const chosen = MUTANTS.filter(({ name }) => name.includes(values.only))
// All mutants are checked first: a mutant that changes nothing would waste the minutes of the runs.
for (const mutant of chosen) readMutated(mutant)

const folder = makeRunFolder()
process.env[RUN_FOLDER_VARIABLE] = folder
const failures: string[] = []

// Each plan of faults runs once without a mistake.
const sound = new Map(chosen.map((mutant) => [mutant.planned, mutant]))
for (const mutant of sound.values()) {
  const problems = await run(mutant)
  if (problems.length > 0) failures.push(`without a mistake: ${problems.join('\n')}`)
}
for (const mutant of chosen) {
  const problem = await findProblem(mutant)
  console.log(
    problem === undefined
      ? `NOT CAUGHT  ${mutant.name}`
      : `caught      ${mutant.name}\n            ${problem}`,
  )
  if (problem === undefined) failures.push(`not caught: ${mutant.name}`)
}
removeRunFolder(folder)
for (const failure of failures) console.log(failure)
process.exit(failures.length === 0 ? 0 : 1)

async function findProblem(mutant: Mutant): Promise<string | undefined> {
  for (let runs = 0; runs < MOST_RUNS; runs += 1) {
    const [problem] = await run(mutant, mutantEnv(mutant.name), SEED + runs)
    if (problem !== undefined) return problem
  }
  return undefined
}

async function run({ planned, asks }: Mutant, env: Readonly<Record<string, string>> = {}, seed = SEED) {
  const { problems } = await runChaos({
    seed,
    limitMs: 0,
    mostRounds: 1,
    faultsPerRound: 0,
    meanGapMs: 1_000,
    clients: CLIENTS,
    scopes: SCOPES,
    keepGoing: false,
    strict: true,
    planned,
    ...(asks === undefined ? {} : { asks }),
    restLimitMs: REST_LIMIT_MS,
    env,
    say: values.verbose ? (line) => console.log(`  ${line}`) : () => {},
  })
  return problems
}
