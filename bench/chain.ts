// The cost of one streamed token through the whole chain: client ← SSE ← gateway ← Redis ← worker ← gRPC ← simulator,
// with credits, queue and settlement, all on this machine.
//
//   npm run bench [-- --streams 200 --rate 50 --seconds 10]
//
// Prints CPU µs per token of each process, Redis commands per token, time to first token, and the gateway's memory per
// stream, all measured while the streams flow. A lost, doubled or reordered token fails the run. Times depend on the
// machine and its other work; the CPU figures much less.
import { parseArgs } from 'node:util'
import { startCluster } from '../test/support/cluster.ts'
import { freePort } from '../test/support/free-port.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { collectGarbage } from './harness/collect-garbage.ts'
import { readCpuUs, readResidentKib } from './harness/process-cpu.ts'
import { readRedisCommands } from './harness/redis-commands.ts'
import { agent, streamChat, type StreamResult } from './harness/stream-chat.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '200' },
    rate: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '10' },
  },
})
const streams = Number(values.streams)
const rate = Number(values.rate)
const seconds = Number(values.seconds)
/** The streams start and end outside the measured window. */
const MARGIN_S = 5
const tokens = (seconds + 2 * MARGIN_S) * rate

/**
 * The memory of a stream is the difference between many and few streams, both right after a garbage collection and at
 * the same number of tokens per second.
 */
const MORE = 5
const FEW = 'demo-chat'
const MANY = 'millrace/demo-chat'
const PROCESSES = ['gateway', 'worker', 'redis', 'simulator', 'billing'] as const

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
  for (const count of [20, 20, seconds * rate]) await flow(FEW, streams, count).finished
  const few = await measure(FEW, streams, tokens)
  const many = await measure(MANY, streams * MORE, Math.ceil(tokens / MORE))

  const perToken = (used: number) => used / few.tokens
  const cpu = (name: keyof typeof processes) => perToken(few.cpuUs[name])
  const firstMs = few.results.map(({ firstTextMs }) => firstTextMs).toSorted((a, b) => a - b)
  const memoryKib = (many.gatewayKib - few.gatewayKib) / (streams * (MORE - 1))
  console.log(`${streams} streams at ${rate} tokens/s, ${few.tokens} tokens in ${seconds} s`)
  for (const name of PROCESSES) console.log(`  ${name.padEnd(26)} ${cpu(name).toFixed(1)} µs CPU per token`)
  const chainUs = cpu('gateway') + cpu('worker') + cpu('redis')
  console.log(`  gateway + worker + redis   ${chainUs.toFixed(1)} µs CPU per token`)
  console.log(`  Redis commands per token   ${perToken(few.commands).toFixed(4)}`)
  console.log(
    `  time to first token        p50 ${at(firstMs, 0.5)} ms, p99 ${at(firstMs, 0.99)} ms (${streams} at once)`,
  )
  console.log(
    `  gateway memory per stream  ${memoryKib.toFixed(1)} KiB (${streams} → ${streams * MORE} streams)`,
  )

  function flow(model: string, count: number, tokensEach: number) {
    let flowing = 0
    const allFlow = Promise.withResolvers<void>()
    const ask = async () =>
      await streamChat({
        baseUrl: gateway?.baseUrl ?? '',
        apiKey,
        body: {
          model,
          messages: [{ role: 'user', content: `[[tokens=${tokensEach}]]` }],
          max_tokens: tokensEach,
        },
        onFirstText() {
          flowing += 1
          if (flowing === count) allFlow.resolve()
        },
      })
    const finished = Promise.all(Array.from({ length: count }, ask))
    return { allFlow: Promise.race([allFlow.promise, finished]), finished }
  }

  async function measure(model: string, count: number, tokensEach: number) {
    const { allFlow, finished } = flow(model, count, tokensEach)
    await allFlow
    await pause(2)
    const before = await snapshot()
    await pause(seconds)
    const after = await snapshot()
    await collectGarbage(inspectPort)
    const gatewayKib = readResidentKib(processes.gateway)
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
        gateway: readCpuUs(processes.gateway),
        worker: readCpuUs(processes.worker),
        redis: readCpuUs(processes.redis),
        simulator: readCpuUs(processes.simulator),
        billing: readCpuUs(processes.billing),
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

/** One lost, doubled or reordered token in any stream fails the run. */
function checkSame(results: readonly StreamResult[], tokensEach: number) {
  const [first] = results
  for (const result of results) {
    if (result.text !== first?.text || result.completionTokens !== tokensEach) {
      throw new Error(`streams differ: ${result.completionTokens} tokens, ${result.text.length} characters`)
    }
  }
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
