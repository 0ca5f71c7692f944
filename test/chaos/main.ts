// `npm run chaos -- --minutes 30 [--seed N] [--standby]`: disturbs a loaded cluster until the time is over or something
// is wrong. test/chaos/run-chaos.ts describes what is done and checked. The seed determines the schedule of faults and
// the requests; which request meets which fault also depends on the machine.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { makeRunFolder, removeRunFolder, RUN_FOLDER_VARIABLE } from '../support/run-folder.ts'
import { mutantEnv } from './mutants/mutant-env.ts'
import { runChaos } from './run-chaos.ts'
import { SCOPES } from './schedule.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(randomInt(1, 1_000_000)) },
    /** The number of faults in one round. */
    faults: { type: 'string', default: '20' },
    'gap-ms': { type: 'string', default: '1000' },
    clients: { type: 'string', default: '16' },
    /** Disturbs only these parts: workers, gateways, billings, servers. */
    only: { type: 'string', default: SCOPES.join(',') },
    /** If true, PostgreSQL has a standby, which faults promote. */
    standby: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
  },
})

const folder = makeRunFolder()
process.env[RUN_FOLDER_VARIABLE] = folder
const { problems } = await runChaos({
  seed: Number(values.seed),
  limitMs: Number(values.minutes) * 60_000,
  mostRounds: Number(values.rounds),
  faultsPerRound: Number(values.faults),
  meanGapMs: Number(values['gap-ms']),
  clients: Number(values.clients),
  scopes: SCOPES.filter((scope) => values.only.split(',').includes(scope)),
  hasStandby: values.standby,
  strict: values.strict,
  keepGoing: values['keep-going'],
  ...(values.mutant === undefined ? {} : { env: mutantEnv(values.mutant) }),
  say: (line) => console.log(line),
})
if (problems.length === 0) removeRunFolder(folder)
else console.log(`${problems.length} problems; the logs are in ${folder}`)
process.exit(problems.length === 0 ? 0 : 1)
