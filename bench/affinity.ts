// Compares warm conversations, whose turns wait for the worker of the turn before, with workers that pull at random,
// and with conversations that are pinned to an engine from their first turn on.
//
//   npm run bench:affinity [-- --only turns,system,flood,kill,one,sizes] [--conversations 48] [--turns 10] [--workers 4]
//
// - turns: each side answers the same conversations. Compares the prompt tokens that the engines computed, the time until
//   all turns were answered, the time to the first token of later turns, and the CPU time of Redis for a call.
// - system: all conversations share a system prompt. Compares the time to the first token, and the load of the workers.
// - flood: one account has four times as many conversations as the engines have slots, another one twice as many. Compares
//   how many tokens each is served.
// - kill: SIGKILL of the worker with most seats while no turn runs, then a turn of each conversation.
// - one: a single worker, which no turn waits for.
// - sizes: two engines of different sizes at light load. Compares which part of the requests each engine gets.
//
// The engines are simulated: a block pool in which the conversations do not all fit, and a time for each prompt token
// that is not cached. Load generator and cluster share the processors, so compare only within a run. Exit code 1 if a bar
// is missed.
//
//   npm run bench:affinity -- --engines HOST:PORT,HOST:PORT [--family hermes] [--block-tokens 16] [--tokens 450] [--rounds 2]
//
// Compares conversations with and without homes on real engines that run already, such as vLLM with `--grpc`: how much
// of the earlier turns is cached, and the time to the first token. `--block-tokens` is the engines' `--block-size`. If the
// cache of one engine holds all ten conversations of four turns with `--tokens` tokens, there is less to gain.
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { setup, teardown } from '../test/support/global-setup.ts'
import { measureEngines } from './affinity/engines.ts'
import { measureFlood } from './affinity/flood.ts'
import { measureKill } from './affinity/kill.ts'
import { measureOne } from './affinity/one.ts'
import { measureSizes } from './affinity/sizes.ts'
import { measureSystem } from './affinity/system.ts'
import { measureTurns } from './affinity/turns.ts'
import { printBars, type Bar } from './harness/bars.ts'
import { agent } from './harness/stream-chat.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'turns,system,flood,kill,one,sizes' },
    conversations: { type: 'string', default: '48' },
    turns: { type: 'string', default: '10' },
    workers: { type: 'string', default: '4' },
    engines: { type: 'string' },
    family: { type: 'string', default: 'hermes' },
    'block-tokens': { type: 'string', default: '16' },
    tokens: { type: 'string', default: '450' },
    rounds: { type: 'string', default: '2' },
  },
})
const load = {
  conversations: Number(values.conversations),
  turns: Number(values.turns),
  workers: Number(values.workers),
}
const PARTS = {
  turns: measureTurns,
  system: measureSystem,
  flood: measureFlood,
  kill: measureKill,
  one: measureOne,
  sizes: measureSizes,
}

await setup()
try {
  const bars =
    values.engines === undefined
      ? await measureParts()
      : await measureEngines(toEngineOptions(values.engines))
  const average = loadavg().map((figure) => figure.toFixed(1))
  console.log(`${availableParallelism()} processors, load average ${average.join(', ')} at the end`)
  if (!printBars(bars)) process.exitCode = 1
} finally {
  agent.destroy()
  await teardown()
}

async function measureParts(): Promise<Bar[]> {
  const bars: Bar[] = []
  for (const [name, measure] of Object.entries(PARTS))
    if (values.only.split(',').includes(name)) bars.push(...(await measure(load)))
  return bars
}

function toEngineOptions(engines: string) {
  return {
    engines: engines.split(','),
    family: values.family,
    rounds: Number(values.rounds),
    tokens: Number(values.tokens),
    blockTokens: Number(values['block-tokens']),
  }
}
