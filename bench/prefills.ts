// Measures what a burst of long prompts adds to the gaps between the tokens of other streams on the same engine:
// client ← gateway ← Redis ← worker ← simulator.
//
//   npm run bench:prefills [-- --streams 20 --prompts 16 --tokens 8000,32000 --rounds 3 --budget 512 --prefill-tokens 32768 --slots 17]
//
// During the whole measurement, one short prompt after another is sent beside the streams, and the times to their first
// tokens are measured. The engine computes prompts in order of arrival, so a short prompt waits for the long prompts
// that the engine has. The worker claims only a part of the burst at once (`PREFILL_TOKENS`). `--slots` is the number of
// slots beside the slots of the streams. Without it, each prompt of the burst has a slot.
//
// The simulator computes prompts in chunks, as vLLM does: a step has a budget of tokens (`--max-num-batched-tokens`),
// which the running streams and the prompts share. So while prompts wait, each step is full, and the engine's own gap
// grows from the time of a step to the time of a step with `--budget` tokens. Only the engine's settings can change that.
//
// Each round has two parts: first the streams flow alone, then all prompts are sent at once. In both parts two streams
// that this process requests from the engine itself flow beside the streams of the gateway. They show the engine's own
// gaps, and the noise of a machine on which all parts of the chain share the processors.
//
// In the second part the 99th percentile of the gaps must be at most twice as long as in the first part; otherwise the exit
// code is 1. The gaps of the gateway's streams are also compared with the engine's gaps in the same part. The first token
// of a short prompt must come within a third of the time that the burst takes.
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { createEngineOverTransport } from '../apps/worker/engine/engine-over-transport.ts'
import { createHttp2Transport } from '../apps/worker/engine/transport/http2-transport.ts'
import { startCluster } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { pauseMs, writeText } from './affinity/conversations.ts'
import { printBars } from './harness/bars.ts'
import { quantile } from './harness/spread.ts'
import { agent, streamChat } from './harness/stream-chat.ts'
import { watchStreams } from './harness/watched-streams.ts'
import { writeCatalog } from './harness/write-catalog.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '20' },
    prompts: { type: 'string', default: '16' },
    tokens: { type: 'string', default: '8000,32000' },
    rounds: { type: 'string', default: '3' },
    budget: { type: 'string', default: '512' },
    'step-ms': { type: 'string', default: '25' },
    'prefill-per-s': { type: 'string', default: '40000' },
    'prefill-tokens': { type: 'string', default: '32768' },
    slots: { type: 'string' },
  },
})
const [streams, prompts, rounds] = [Number(values.streams), Number(values.prompts), Number(values.rounds)]
const [leastTokens = 8_000, mostTokens = leastTokens] = values.tokens.split(',').map(Number)
const engine = {
  stepMs: Number(values['step-ms']),
  prefillTokensPerS: Number(values['prefill-per-s']),
  maxNumBatchedTokens: Number(values.budget),
}

const MODEL = 'demo-chat'
const WINDOW = 131_072
const QUIET_MS = 6_000
const DIRECT_STREAMS = 2
const [SHORT_TOKENS, SHORT_PAUSE_MS] = [100, 250]
/** More tokens than a stream writes in the whole run. The streams are closed before their end. */
const STREAM_TOKENS = 60_000

await setup()
const cluster = await startCluster({
  logLevel: 'warn',
  billingEnv: {
    CATALOG_FILE: writeCatalog(MODEL, { contextWindow: WINDOW, maxOutputTokens: STREAM_TOKENS }),
  },
  workerEnv: { PREFILL_TOKENS: values['prefill-tokens'] },
  workers: [
    [
      {
        model: MODEL,
        files: 'demo',
        maxNumSeqs: streams + DIRECT_STREAMS + Number(values.slots ?? prompts + 1),
        maxModelLen: WINDOW,
        kvBlocks: (4 * prompts * mostTokens) / 16,
        behaviour: { type: 'writes', tokens: STREAM_TOKENS },
        ...engine,
      },
    ],
  ],
})
const direct = openDirectStreams()
try {
  const { apiKey } = await cluster.createAccount('100000')
  const [gateway, worker] = [cluster.gateways[0], cluster.workers[0]]
  if (gateway === undefined || worker === undefined)
    throw new Error('the cluster has no gateway or no worker')
  const { baseUrl } = cluster
  const watched = watchStreams({ baseUrl, apiKey, model: MODEL, count: streams, tokens: STREAM_TOKENS })
  await watched.flowing
  await sendBurst(2) // Warm-up, because cold code takes longer.

  const lags = async () => ({
    gateway: 1_000 * (await cluster.metric(gateway, 'nodejs_eventloop_lag_max_seconds')),
    worker: 1_000 * (await cluster.metric(worker, 'nodejs_eventloop_lag_max_seconds')),
    simulator: 1_000 * (await cluster.metric(cluster.simulator, 'nodejs_eventloop_lag_max_seconds')),
  })
  console.log(
    `${streams} streams; in each round ${prompts} prompts of ${leastTokens} to ${mostTokens} tokens at once; ` +
      `a step takes ${engine.stepMs} ms and computes at most ${engine.maxNumBatchedTokens} tokens, ` +
      `${engine.prefillTokensPerS} prompt tokens a second`,
  )
  const growth: number[] = []
  const engineGrowth: number[] = []
  const beyondEngine: number[] = []
  const shortWait: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    // A reading resets the lags.
    await lags()
    const startMs = performance.now()
    const quietShorts = await sendShorts(pauseMs(QUIET_MS))
    const quietLags = await lags()
    const burstMs = performance.now()
    const sent = sendBurst(prompts)
    const burstShorts = await sendShorts(sent)
    const firsts = await sent
    const endMs = burstMs + Math.max(...firsts)
    const burstLags = await lags()
    const [quiet, burst] = [watched.gapsMs(startMs, burstMs), watched.gapsMs(burstMs, endMs)]
    const [engineQuiet, engineBurst] = [direct.gapsMs(startMs, burstMs), direct.gapsMs(burstMs, endMs)]
    print('alone', { gapsMs: quiet, engineMs: engineQuiet, lags: quietLags })
    print('burst', { gapsMs: burst, engineMs: engineBurst, lags: burstLags })
    console.log(
      `        the burst took ${((endMs - burstMs) / 1_000).toFixed(1)} s; first tokens of its prompts after ` +
        `${firsts.map(toS).join(', ')} s`,
    )
    console.log(
      `        first tokens of ${quietShorts.length} and ${burstShorts.length} short prompts: alone p50 ` +
        `${toS(quantile(quietShorts, 0.5))} s, longest ${toS(quantile(quietShorts, 1))} s; in the burst p50 ` +
        `${toS(quantile(burstShorts, 0.5))} s, longest ${toS(quantile(burstShorts, 1))} s`,
    )
    shortWait.push(quantile(burstShorts, 1) / (endMs - burstMs))
    growth.push(quantile(burst, 0.99) / quantile(quiet, 0.99))
    engineGrowth.push(quantile(engineBurst, 0.99) / quantile(engineQuiet, 0.99))
    beyondEngine.push(quantile(burst, 0.99) / quantile(engineBurst, 0.99))
  }
  const average = loadavg().map((figure) => figure.toFixed(1))
  console.log(`${availableParallelism()} processors, load average ${average.join(', ')} at the end`)
  const bars = [
    { title: 'gap p99, burst ÷ alone', unit: '', bar: 2, values: growth },
    { title: '… of streams from the engine itself', unit: '', bar: 2, values: engineGrowth },
    { title: 'gap p99 in the burst ÷ that of the engine', unit: '', bar: 2, values: beyondEngine },
    { title: 'longest first token of a short prompt ÷ burst', unit: '', bar: 0.33, values: shortWait },
  ]
  if (!printBars(bars)) process.exitCode = 1

  /** Sends one short prompt after another until `over` resolves. Returns the times to their first tokens, ascending. */
  async function sendShorts(over: Promise<unknown>): Promise<number[]> {
    const state = { isOver: false }
    void over.then(() => (state.isOver = true))
    const firsts: number[] = []
    while (!state.isOver) {
      const body = {
        model: MODEL,
        messages: [{ role: 'user', content: writeText(SHORT_TOKENS) }],
        max_tokens: 2,
      }
      firsts.push((await streamChat({ baseUrl, apiKey, body })).firstTextMs)
      await pauseMs(SHORT_PAUSE_MS)
    }
    return firsts.toSorted((a, b) => a - b)
  }

  /** Sends `count` prompts at once. Returns the times to their first tokens, in ascending order. */
  async function sendBurst(count: number): Promise<number[]> {
    const sent = Array.from({ length: count }, async (_, index) => {
      const part = count === 1 ? 0 : index / (count - 1)
      const content = writeText(leastTokens + part * (mostTokens - leastTokens))
      const body = { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 2 }
      return (await streamChat({ baseUrl, apiKey, body })).firstTextMs
    })
    return (await Promise.all(sent)).toSorted((a, b) => a - b)
  }
} finally {
  direct.close()
  agent.destroy()
  await cluster.stop()
  await teardown()
}

/** Starts streams of the engine itself, beside gateway and worker. `gapsMs` is the function of `WatchedStreams`. */
function openDirectStreams() {
  const [address] = cluster.engines
  if (address === undefined) throw new Error('the cluster has no engine')
  const client = createEngineOverTransport(createHttp2Transport({ address }))
  const leaving = new AbortController()
  const times: number[][] = Array.from({ length: DIRECT_STREAMS }, () => [])
  const ended = times.map(async (own, index) => {
    const request = {
      requestId: `direct-${index}`,
      promptIds: Uint32Array.of(1, 2, 3 + index),
      sampling: { temperature: 0 },
      maxTokens: STREAM_TOKENS,
      endIds: [],
      stop: [],
      constraint: null,
      cacheSalt: null,
    }
    const onTokens = () => {
      own.push(performance.now())
      return true
    }
    await client.generate(request, { signal: leaving.signal, onTokens })
  })
  void Promise.allSettled(ended).then(() => client.close())
  return {
    gapsMs(fromMs: number, untilMs: number): number[] {
      const gaps = times.flatMap((own) =>
        own.flatMap((atMs, index) => {
          const before = own[index - 1]
          return before !== undefined && atMs >= fromMs && atMs <= untilMs ? [atMs - before] : []
        }),
      )
      return gaps.toSorted((a, b) => a - b)
    },
    close: () => leaving.abort(),
  }
}

function toS(ms: number): string {
  return (ms / 1_000).toFixed(2)
}

function print(
  title: string,
  part: { gapsMs: readonly number[]; engineMs: readonly number[]; lags: Readonly<Record<string, number>> },
): void {
  const shown = (gapsMs: readonly number[]) =>
    [0.5, 0.99, 1].map((at) => `p${at * 100} ${quantile(gapsMs, at).toFixed(0)}`).join(', ')
  const turns = Object.entries(part.lags).map(([name, ms]) => `${name} ${ms.toFixed(0)}`)
  console.log(
    `  ${title}: gaps ${shown(part.gapsMs)} ms; at the engine ${shown(part.engineMs)} ms; ` +
      `longest turn: ${turns.join(', ')} ms`,
  )
}
