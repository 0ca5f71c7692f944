// Measures the cost of one streamed token through the whole chain: client ← SSE ← gateway ← Redis ← worker ← gRPC ←
// simulator, with credits, queue and settlement, all on this machine.
//
//   npm run bench [-- --streams 200 --rate 50 --seconds 10 --rounds 1]
//
// Prints CPU µs per token of each process, Redis commands per token, time to first token, and the gateway's memory per
// stream, all measured while the streams flow. The same rounds also measure the floor: the CPU per token of a
// `node:http` server that does nothing but send the gateway's own events at the same pace. The output calls this server
// the bare server. A lost, duplicated or reordered token fails the run. Times depend strongly on the machine and its
// other work. CPU figures depend less on them, and the ratios of CPU figures to the floor depend least. The bars, which
// are the required values, are printed last. The exit code is 1 if a bar is missed.
import { parseArgs } from 'node:util'
import { startCluster } from '../test/support/cluster.ts'
import { freePort } from '../test/support/free-port.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { printBars } from './harness/bars.ts'
import { startFloor } from './harness/floor.ts'
import { readNeededKib } from './harness/needed-memory.ts'
import { readThreadsCpuUs } from './harness/process-cpu.ts'
import { readRedisCommands } from './harness/redis-commands.ts'
import { toSpread } from './harness/spread.ts'
import { agent, streamChat, type StreamResult } from './harness/stream-chat.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '200' },
    rate: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '1' },
  },
})
const streams = Number(values.streams)
const rate = Number(values.rate)
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
/** The streams start this long before the measured window, and end this long after it. */
const MARGIN_S = 5
const tokens = (seconds + 2 * MARGIN_S) * rate

/**
 * The second measurement has this many times the streams of the first one, and the same number of tokens per second.
 * The memory of a stream is
 *
 *     (gateway memory with many streams - gateway memory with few streams) ÷ (many - few)
 *
 * The factor is ten, because the gateway's memory outside V8's heap varies by 7 MB from minute to minute. With 200 and
 * 2,000 streams, the memory of a stream is therefore uncertain by 7 MB ÷ 1,800 = 4 KiB.
 */
const MORE = 10
/** The longest time until all of the many streams flow. */
const OPENING_S = 30
const FEW = 'demo-chat'
const MANY = 'millrace/demo-chat'
const CHAIN = ['gateway', 'worker', 'redis'] as const
const PROCESSES = [...CHAIN, 'simulator', 'billing'] as const

type Measured = {
  readonly results: readonly StreamResult[]
  readonly tokens: number
  readonly commands: number
  readonly cpuUs: Readonly<Record<(typeof PROCESSES)[number], number>>
  readonly gatewayKib: number
}

await setup()
const inspectPort = await freePort()
const cluster = await startCluster({
  gatewayEnv: { NODE_OPTIONS: `--inspect=127.0.0.1:${inspectPort}` },
  workers: [
    [
      { model: FEW, files: 'demo', maxNumSeqs: streams, stepMs: 1_000 / rate, sequenceMs: 0 },
      {
        model: MANY,
        files: 'demo',
        maxNumSeqs: streams * MORE,
        stepMs: (1_000 * MORE) / rate,
        sequenceMs: 0,
      },
    ],
  ],
})
try {
  const { apiKey } = await cluster.createAccount('1000')
  const [gateway] = cluster.gateways
  const [worker] = cluster.workers
  if (gateway === undefined || worker === undefined)
    throw new Error('the cluster has no gateway or no worker')
  const processes = {
    gateway: gateway.pid,
    worker: worker.pid,
    redis: cluster.redis.pid(),
    simulator: cluster.simulator.pid,
    billing: cluster.billing.pid,
  }

  // Warm-up with the same load: cold code costs several times as much, and the heap grows until it fits the load.
  for (const count of [20, 20, seconds * rate]) await flow(FEW, streams, { tokensEach: count }).finished
  const fews: Measured[] = []
  const floors: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const few = await measure(FEW, streams, tokens)
    fews.push(few)
    floors.push(await measureFloor(few.results))
  }
  const many = await measure(MANY, streams * MORE, Math.ceil((tokens + OPENING_S * rate) / MORE))

  const perToken = (of: Measured, name: (typeof PROCESSES)[number]) => of.cpuUs[name] / of.tokens
  const chains = fews.map((few) => CHAIN.reduce((sum, name) => sum + perToken(few, name), 0))
  const commands = fews.map((few) => few.commands / few.tokens)
  const memoryKib = fews.map((few) => (many.gatewayKib - few.gatewayKib) / (streams * (MORE - 1)))
  const firstMs = fews.flatMap(({ results }) => results.map((it) => it.firstTextMs)).toSorted((a, b) => a - b)
  console.log(`${streams} streams at ${rate} tokens/s, ${rounds} rounds of ${seconds} s`)
  for (const name of PROCESSES)
    line(
      name,
      fews.map((few) => perToken(few, name)),
      'µs CPU per token',
    )
  line('gateway + worker + redis', chains, 'µs CPU per token')
  line('bare node:http server', floors, 'µs CPU per token')
  console.log(
    `  time to first token        p50 ${at(firstMs, 0.5)} ms, p99 ${at(firstMs, 0.99)} ms (${streams} at once)`,
  )
  console.log(`  gateway memory             ${streams} → ${streams * MORE} streams`)
  const noneMissed = printBars([
    {
      title: 'gateway + worker + redis, CPU per token',
      unit: ' × bare server',
      bar: 2.5,
      values: chains.map((us, round) => us / (floors[round] ?? Number.NaN)),
    },
    { title: 'Redis commands per token', unit: '', bar: 0.01, values: commands },
    { title: 'gateway memory per stream', unit: ' KiB', bar: 24, values: memoryKib },
  ])
  if (!noneMissed) process.exitCode = 1

  /**
   * Returns the CPU time per token, in µs, of a plain `node:http` server. It sends the events of the first given stream
   * to `streams` clients at the same rate.
   */
  async function measureFloor([sample]: readonly StreamResult[]): Promise<number> {
    const events = (sample?.body ?? '').split(/(?<=\n\n)/u)
    const floor = await startFloor({ events, stepMs: 1_000 / rate })
    try {
      const { allFlow, finished } = flow(FEW, streams, { tokensEach: tokens, baseUrl: floor.baseUrl })
      await allFlow
      await pause(2)
      const before = await floor.read()
      await pause(seconds)
      const after = await floor.read()
      checkSame(await finished, tokens)
      // The gateway may have put several tokens into one event.
      return ((after.cpuUs - before.cpuUs) / (after.events - before.events)) * (events.length / tokens)
    } finally {
      await floor.stop()
    }
  }

  /** Opens the streams in groups of `streams`, because a rush of openings needs more memory than open streams. */
  function flow(
    model: string,
    count: number,
    { tokensEach, baseUrl = cluster.baseUrl }: { tokensEach: number; baseUrl?: string },
  ) {
    let [begun, ended] = [0, 0]
    const asked: Promise<StreamResult>[] = []
    const allFlow = Promise.withResolvers<void>()
    const allAsked = Promise.withResolvers<void>()
    const ask = async () => {
      const result = await streamChat({
        baseUrl,
        apiKey,
        body: {
          model,
          messages: [{ role: 'user', content: `[[tokens=${tokensEach}]]` }],
          max_tokens: tokensEach,
        },
        onFirstText() {
          begun += 1
          if (begun === count) allFlow.resolve()
          else if (begun === asked.length) askGroup()
        },
      })
      ended += 1
      return result
    }
    const askGroup = () => {
      const more = Math.min(streams, count - asked.length)
      asked.push(...Array.from({ length: more }, ask))
      if (asked.length === count) allAsked.resolve()
    }
    askGroup()
    const finished = allAsked.promise.then(() => Promise.all(asked))
    return { allFlow: Promise.race([allFlow.promise, finished]), finished, flowing: () => begun - ended }
  }

  async function measure(model: string, count: number, tokensEach: number): Promise<Measured> {
    const { allFlow, finished, flowing } = flow(model, count, { tokensEach })
    await allFlow
    await pause(2)
    const before = await snapshot()
    await pause(seconds)
    const after = await snapshot()
    const gatewayKib = await readNeededKib(processes.gateway, inspectPort)
    if (flowing() < count) throw new Error(`${count - flowing()} streams ended before all were measured`)
    const results = await finished
    checkSame(results, tokensEach)
    const used = (name: keyof typeof processes) => after.cpuUs[name] - before.cpuUs[name]
    return {
      results,
      tokens: after.tokens - before.tokens,
      commands: after.commands - before.commands,
      cpuUs: {
        gateway: used('gateway'),
        worker: used('worker'),
        redis: used('redis'),
        simulator: used('simulator'),
        billing: used('billing'),
      },
      gatewayKib,
    }
  }

  async function snapshot() {
    return {
      cpuUs: {
        gateway: readThreadsCpuUs(processes.gateway),
        worker: readThreadsCpuUs(processes.worker),
        redis: readThreadsCpuUs(processes.redis),
        simulator: readThreadsCpuUs(processes.simulator),
        billing: readThreadsCpuUs(processes.billing),
      },
      commands: await readRedisCommands(cluster.redis.url),
      tokens: await cluster.metric(cluster.simulator, 'millrace_simulator_tokens_total'),
    }
  }
} finally {
  agent.destroy()
  await cluster.stop()
  await teardown()
}

/** Throws if a token was lost, doubled or reordered in any stream. */
function checkSame(results: readonly StreamResult[], tokensEach: number) {
  const [first] = results
  for (const result of results) {
    if (result.text !== first?.text || result.completionTokens !== tokensEach) {
      throw new Error(`streams differ: ${result.completionTokens} tokens, ${result.text.length} characters`)
    }
  }
}

function line(title: string, figures: readonly number[], unit: string): void {
  const { min, median, max } = toSpread(figures)
  const range = figures.length === 1 ? '' : ` [${min.toFixed(1)}..${max.toFixed(1)}]`
  console.log(`  ${title.padEnd(26)} ${median.toFixed(1)}${range} ${unit}`)
}

function at(sorted: readonly number[], quantile: number): string {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))]
  return value === undefined ? '–' : value.toFixed(0)
}

async function pause(s: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, s * 1_000)
  await promise
}
