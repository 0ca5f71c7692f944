// Measures the cost of one request (time to first token, CPU, Redis commands), compared with another commit of this
// repository.
//
//   npm run bench:request [-- --before COMMIT|none] [--rounds 5] [--seconds 8] [--warm-up 30]
//
// Each commit has a separate cluster: gateway, worker, billing, Redis, PostgreSQL, and an engine of 1 ms a token. The
// clusters run in turns, in random order within a round. Each cluster first gets requests of 3 tokens at random
// moments, 50 a second and then 200 a second on average. After that, 32 requests are under way at any time. In the same
// rounds, and at the same paces, three units are measured: a Redis PING (its median time is R, the unit of this
// machine), the commit of one row, and the engine's own time to its first token. PostgreSQL does not flush to the disk.
//
// Prints each figure as its median over the rounds, with the range over the rounds in brackets. Then prints Redis
// commands by script and command. At the end, prints the medians that have a limit (a bar), each beside its bar. The
// exit code is 1 if a bar is missed. The load generator, the engines and everything else on the machine share its
// processors, so compare only figures of the same run.
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { makeRunFolder, removeRunFolder, RUN_FOLDER_VARIABLE } from '../test/support/run-folder.ts'
import { REPOSITORY } from '../scripts/servers/start-app.ts'
import { printBars } from './harness/bars.ts'
import { agent } from './harness/stream-chat.ts'
import { openCheckout } from './request/checkout.ts'
import { measureLoad, type Measured, type RequestLoad } from './request/measure-load.ts'
import { printCommands, printLoads, printProbes } from './request/print-figures.ts'
import { openProbes, type ProbeName, type Probes } from './request/probes.ts'
import { startSide, type Side } from './request/start-side.ts'
import { toBars } from './request/to-bars.ts'
import { watchCommands } from './request/watch-commands.ts'

/** The last commit before the path of a request was made shorter. */
const BEFORE = '1b53b81'

const { values } = parseArgs({
  options: {
    before: { type: 'string', default: BEFORE },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    'warm-up': { type: 'string', default: '30' },
  },
})
const [rounds, seconds, warmUpS] = [Number(values.rounds), Number(values.seconds), Number(values['warm-up'])]

const LOADS = {
  '50/s': { ratePerS: 50, seconds },
  '200/s': { ratePerS: 200, seconds },
  'closed loop of 32': { inFlight: 32, seconds },
} as const satisfies Record<string, RequestLoad>
const PACES = [50, 200] as const
const WARM_UP_TURNS = 3
const PROBES = ['ping', 'commit', 'engine'] as const satisfies ProbeName[]

await measure()

async function measure(): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const folder = makeRunFolder()
  opened.defer(() => removeRunFolder(folder))
  process.env[RUN_FOLDER_VARIABLE] = folder
  opened.defer(() => agent.destroy())

  const sides = [opened.adopt(await startSide({ name: 'now', root: REPOSITORY }), (it) => it.stop())]
  if (values.before !== 'none') {
    const checkout = opened.adopt(openCheckout(values.before), (it) => it.remove())
    sides.push(opened.adopt(await startSide({ name: 'before', root: checkout.root }), (it) => it.stop()))
  }
  const [now] = sides
  if (now === undefined) throw new Error('there is no cluster')
  const probes = opened.adopt(await openProbes(now), (it) => it.close())

  // The warm-up comes first, because cold code costs more. With 32 requests at once as warm-up, a request at 200/s took
  // this much CPU time afterwards:
  // - after 7 s of warm-up: 7.0 ms
  // - after 23 s: 5.5 ms
  // - after a minute: not less than 5.5 ms
  //
  // The clusters take turns here too, so that neither has idled longer than the other when the rounds begin.
  for (let turn = 0; turn < WARM_UP_TURNS; turn += 1)
    for (const side of sides) await measureLoad(side, { inFlight: 32, seconds: warmUpS / WARM_UP_TURNS })
  for (const name of PROBES) await probes.measure(name, { ratePerS: 200, seconds: 1 })

  const figures = await runRounds(sides, probes)
  const commands = new Map(
    await Promise.all(sides.map(async (side) => [side.name, await watchOne(side)] as const)),
  )
  console.log(`${rounds} rounds of ${seconds} s a load, this checkout beside ${values.before}`)
  const load = loadavg().map((figure) => figure.toFixed(1))
  console.log(`${availableParallelism()} processors, load average ${load.join(', ')} at the end`)
  printProbes(figures)
  printLoads(figures)
  printCommands(commands)
  if (!printBars(toBars(figures))) process.exitCode = 1
}

/** Returns all figures, by the measured load or unit, with one figure for each round. */
async function runRounds(sides: readonly Side[], probes: Probes) {
  const loads = new Map<string, Map<string, Measured[]>>()
  const units = new Map<string, number[]>()
  const probeS = Math.max(2, seconds / 2)
  for (let round = 0; round < rounds; round += 1) {
    for (const ratePerS of PACES)
      for (const name of PROBES)
        append(units, `${name} ${ratePerS}/s`, await probes.measure(name, { ratePerS, seconds: probeS }))
    for (const [name, load] of Object.entries(LOADS)) {
      for (const side of Math.random() < 0.5 ? sides : sides.toReversed()) {
        const bySide = loads.get(name) ?? new Map<string, Measured[]>()
        loads.set(name, bySide)
        append(bySide, side.name, await measureLoad(side, load))
      }
    }
    console.error(`round ${round + 1} of ${rounds}`)
  }
  return { units, loads }
}

async function watchOne(side: Side) {
  const offered = measureLoad(side, { ratePerS: 50, seconds: Math.min(4, seconds) })
  const counts = await watchCommands({ ...side, until: offered })
  return { counts, finished: (await offered).finished }
}

function append<Item>(lists: Map<string, Item[]>, name: string, item: Item): void {
  const list = lists.get(name) ?? []
  lists.set(name, list)
  list.push(item)
}
