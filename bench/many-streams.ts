// Runs many slow streams on one gateway and one worker, checks that all are complete, and measures the gaps between
// their tokens.
//
//   npm run bench:streams [-- --streams 1000,4000 --rate 5 --seconds 30]
//
// For each process it also prints the longest turn of the event loop, and how long the main thread waited for a
// processor. A gap that no turn explains is caused by the machine. The client is one more process on the same machine.
// A lost, duplicated or reordered token fails the run. The exit code is 1 if a value misses its limit.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startCluster } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { printBars } from './harness/bars.ts'
import { readRunQueueMs, readThreadsCpuUs } from './harness/process-cpu.ts'
import { quantile } from './harness/spread.ts'
import { agent } from './harness/stream-chat.ts'
import { watchStreams } from './harness/watched-streams.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000,4000' },
    rate: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '30' },
  },
})
const sizes = values.streams.split(',').map(Number)
const [rate, seconds] = [Number(values.rate), Number(values.seconds)]
const stepMs = 1_000 / rate

const MODEL = 'demo-chat'
const START_PER_S = 250
const SETTLE_S = 2
const LONGEST_GAP_MS = 2_000
const BLOCK_TOKENS = 16
/** At least as many tokens as the prompt has. */
const PROMPT_TOKENS = 64

/**
 * Returns how many tokens each of `count` streams has. The number is large enough that no stream ends before all
 * streams have been measured.
 */
const tokensOf = (count: number) => Math.ceil((count / START_PER_S + SETTLE_S + seconds + 5) * rate)
const most = Math.max(...sizes)
/** The blocks for all streams. An engine with fewer blocks would pause some streams. */
const kvBlocks = most * Math.ceil((tokensOf(most) + PROMPT_TOKENS) / BLOCK_TOKENS)

await setup()
const cluster = await startCluster({
  logLevel: 'warn',
  workers: [[{ model: MODEL, files: 'demo', maxNumSeqs: most, kvBlocks, stepMs, sequenceMs: 0 }]],
})
try {
  const { apiKey } = await cluster.createAccount('100000')
  const apps = { gateway: cluster.gateways[0], worker: cluster.workers[0], simulator: cluster.simulator }
  for (const count of sizes) {
    const watched = watchStreams({
      baseUrl: cluster.baseUrl,
      apiKey,
      model: MODEL,
      count,
      tokens: tokensOf(count),
      startPerS: START_PER_S,
    })
    await watched.flowing
    await sleep(SETTLE_S * 1_000)
    const own = monitorEventLoopDelay({ resolution: 10 })
    own.enable()
    const [before, fromMs] = [await readApps(), performance.now()]
    await sleep(seconds * 1_000)
    const [after, untilMs] = [await readApps(), performance.now()]
    own.disable()
    const gaps = watched.gapsMs(fromMs, untilMs)
    const results = await watched.finished

    console.log(`${count} streams at ${rate} tokens/s: ${results.length} whole`)
    console.log(
      `  gaps between tokens        p50 ${quantile(gaps, 0.5).toFixed(0)}, p99 ${quantile(gaps, 0.99).toFixed(0)}, longest ${quantile(gaps, 1).toFixed(0)} ms`,
    )
    for (const [name, { cpuUs, runQueueMs, longestTurnMs }] of Object.entries(after)) {
      const cores = (cpuUs - (before[name]?.cpuUs ?? 0)) / (seconds * 1e6)
      const waitedMs = runQueueMs - (before[name]?.runQueueMs ?? 0)
      console.log(
        `  ${name.padEnd(26)} ${cores.toFixed(2)} cores, longest turn ${longestTurnMs.toFixed(0)} ms, without a processor ${(waitedMs / 1_000).toFixed(1)} s`,
      )
    }
    console.log(`  ${'client'.padEnd(26)} longest turn ${(own.max / 1e6).toFixed(0)} ms`)
    const noneMissed = printBars([
      { title: 'gap p99', unit: ' × a step', bar: 1.5, values: [quantile(gaps, 0.99) / stepMs] },
      { title: 'longest gap', unit: ' ms', bar: LONGEST_GAP_MS, values: [quantile(gaps, 1)] },
    ])
    if (!noneMissed) process.exitCode = 1
  }

  async function readApps() {
    const read: Record<string, { cpuUs: number; runQueueMs: number; longestTurnMs: number }> = {}
    for (const [name, app] of Object.entries(apps)) {
      if (app === undefined) throw new Error(`the cluster has no ${name}`)
      read[name] = {
        cpuUs: readThreadsCpuUs(app.pid),
        runQueueMs: readRunQueueMs(app.pid),
        // The longest turn since the previous reading.
        longestTurnMs: (await cluster.metric(app, 'nodejs_eventloop_lag_max_seconds')) * 1_000,
      }
    }
    return read
  }
} finally {
  agent.destroy()
  await cluster.stop()
  await teardown()
}
