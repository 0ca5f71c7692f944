// Measures how much a prompt of 128,000 tokens delays the tokens of other streams: client ← gateway ← Redis ← worker ←
// simulator.
//
//   npm run bench:long-prompt [-- --streams 20 --rate 20 --rounds 5 --prompts 4 --tokens 128000]
//
// Each round has two parts. In the first part, steady streams flow alone. In the second part, they flow while one long
// prompt after another is sent on the same gateway and worker. Prints the gaps between tokens in both parts, and the
// longest turn of each event loop. The simulator's turn is printed too, because it reads a prompt's ids itself; a real
// engine has other processes for that. A turn contains the time that its process waited for a processor.
//
// For each round, the 99.9th percentile of the gaps in the first part is subtracted from the same percentile in the
// second part. The median of these differences must be at most 20 ms; otherwise the exit code is 1. All parts of the
// chain share the processors, and tokenizing keeps whole processors busy, so a machine without spare processors cannot
// stay below this limit.
import { parseArgs } from 'node:util'
import { startCluster } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { pauseMs } from './affinity/conversations.ts'
import { printBars } from './harness/bars.ts'
import { quantile } from './harness/spread.ts'
import { agent, streamChat } from './harness/stream-chat.ts'
import { watchStreams } from './harness/watched-streams.ts'
import { writeCatalog } from './harness/write-catalog.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '20' },
    rate: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '5' },
    prompts: { type: 'string', default: '4' },
    tokens: { type: 'string', default: '128000' },
  },
})
const [streams, rate] = [Number(values.streams), Number(values.rate)]
const [rounds, prompts] = [Number(values.rounds), Number(values.prompts)]
const promptTokens = Number(values.tokens)

const MODEL = 'demo-chat'
const WINDOW = 262_144
const QUIET_MS = 4_000
/** More tokens than a stream writes in the whole run. The streams are closed before their end. */
const STREAM_TOKENS = 60_000

/** The number of tokens that the demo model's tokenizer makes of each of these words. */
const TOKENS_PER_WORD = 3
const WORDS = ['river', 'stone', 'wheel', 'grain', 'flour', 'water', 'miller', 'bridge', 'market', 'winter']
const random = (below: number) => Math.floor(Math.random() * below)

await setup()
const cluster = await startCluster({
  logLevel: 'warn',
  billingEnv: {
    CATALOG_FILE: writeCatalog(MODEL, { contextWindow: WINDOW, maxOutputTokens: STREAM_TOKENS }),
  },
  workers: [
    [
      {
        model: MODEL,
        files: 'demo',
        maxNumSeqs: streams + 2,
        maxModelLen: WINDOW,
        kvBlocks: WINDOW,
        maxNumBatchedTokens: 16_384, // A step that takes a whole prompt would be one long turn of the simulator.
        stepMs: 1_000 / rate,
        sequenceMs: 0,
        prefillTokensPerS: 1e9,
      },
    ],
  ],
})
try {
  const { apiKey } = await cluster.createAccount('100000')
  const [gateway, worker] = [cluster.gateways[0], cluster.workers[0]]
  if (gateway === undefined || worker === undefined)
    throw new Error('the cluster has no gateway or no worker')
  const { baseUrl } = cluster
  const watched = watchStreams({ baseUrl, apiKey, model: MODEL, count: streams, tokens: STREAM_TOKENS })
  await watched.flowing
  await sendLong() // Warm-up, because cold code takes longer.

  const lags = async () => ({
    gateway: 1_000 * (await cluster.metric(gateway, 'nodejs_eventloop_lag_max_seconds')),
    worker: 1_000 * (await cluster.metric(worker, 'nodejs_eventloop_lag_max_seconds')),
    simulator: 1_000 * (await cluster.metric(cluster.simulator, 'nodejs_eventloop_lag_max_seconds')),
  })
  console.log(
    `${streams} streams at ${rate} tokens/s; in each round ${prompts} prompts of ${promptTokens} tokens`,
  )
  const delaysMs: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    // A reading resets the lags.
    await lags()
    const startMs = performance.now()
    await pauseMs(QUIET_MS)
    const quietLags = await lags()
    const longMs = performance.now()
    for (let sent = 0; sent < prompts; sent += 1) await sendLong()
    const endMs = performance.now()
    const quiet = watched.gapsMs(startMs, longMs)
    const loud = watched.gapsMs(longMs, endMs)
    print('alone', quiet, quietLags)
    print('beside long prompts', loud, await lags())
    delaysMs.push(quantile(loud, 0.999) - quantile(quiet, 0.999))
  }
  const title = 'delay of a token by long prompts, p99.9'
  if (!printBars([{ title, unit: ' ms', bar: 20, values: delaysMs }])) process.exitCode = 1

  /** Sends one prompt whose words no other prompt shares. */
  async function sendLong(): Promise<void> {
    const words = Array.from({ length: promptTokens / TOKENS_PER_WORD }, () => WORDS[random(WORDS.length)])
    const content = `[[tokens=2]] ${words.join(' ')}`
    const result = await streamChat({
      baseUrl,
      apiKey,
      body: { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 2 },
    })
    const usage = /"prompt_tokens":(\d+)/u.exec(result.body)
    if (usage === null) throw new Error('the stream has no usage')
    if (Number(usage[1]) < 0.99 * promptTokens) throw new Error(`the prompt has only ${usage[1]} tokens`)
  }
} finally {
  agent.destroy()
  await cluster.stop()
  await teardown()
}

function print(title: string, gapsMs: readonly number[], lags: Readonly<Record<string, number>>): void {
  const turns = Object.entries(lags).map(([name, ms]) => `${name} ${ms.toFixed(0)}`)
  const shown = [0.5, 0.99, 0.999, 1].map((at) => `p${at * 100} ${quantile(gapsMs, at).toFixed(0)}`)
  console.log(`  ${title.padEnd(22)} gaps ${shown.join(', ')} ms`)
  console.log(`  ${''.padEnd(22)} longest turn: ${turns.join(', ')} ms`)
}
