// What does one streamed token cost, through the whole chain? Client ← SSE ← gateway ← Redis ← worker ← gRPC ←
// simulator, with credits, queue and settlement switched on, everything on this machine.
//
//   npm run bench [-- --streams 200 --rate 50 --seconds 10]
//
// Prints CPU µs per token of each process, Redis commands per token, time to first token, and the gateway's
// memory per stream, all measured while the streams flow. Absolute times depend on the machine and its other
// work; the CPU figures much less.
import { parseArgs } from 'node:util'
import { startCluster } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
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

await setup()
const cluster = await startCluster({
  workers: [
    [{ model: 'demo-chat', family: 'demo', maxNumSeqs: streams, stepMs: 1_000 / rate, sequenceMs: 0 }],
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
  const ask = (count: number, onFirstText?: () => void) =>
    streamChat({
      baseUrl: gateway.baseUrl,
      apiKey,
      body: {
        model: 'demo-chat',
        messages: [{ role: 'user', content: `[[tokens=${count}]]` }],
        max_tokens: count,
      },
      ...(onFirstText === undefined ? {} : { onFirstText }),
    })

  // Cold code costs several times as much, and a cold heap grows: 600 short streams first.
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: streams }, async () => await ask(20)))
  }
  await pause(2)
  const idleKib = readResidentKib(gateway.pid)

  let flowing = 0
  const allFlow = Promise.withResolvers<void>()
  const results = Promise.all(
    Array.from(
      { length: streams },
      async () =>
        await ask(tokens, () => {
          flowing += 1
          if (flowing === streams) allFlow.resolve()
        }),
    ),
  )
  await Promise.race([allFlow.promise, results])
  await pause(2)

  const before = await snapshot()
  await pause(seconds)
  const after = await snapshot()
  const flowingKib = readResidentKib(gateway.pid)
  const finished = await results
  checkSame(finished)

  const measured = after.tokens - before.tokens
  const perToken = (used: number) => used / measured
  const cpu = Object.fromEntries(
    Object.keys(processes).map((name) => [name, perToken((after.cpu[name] ?? 0) - (before.cpu[name] ?? 0))]),
  )
  const chainUs = (cpu['gateway'] ?? 0) + (cpu['worker'] ?? 0) + (cpu['redis'] ?? 0)
  const firstMs = finished.map(({ firstTextMs }) => firstTextMs).toSorted((a, b) => a - b)
  console.log(`${streams} streams at ${rate} tokens/s, ${measured} tokens in ${seconds} s`)
  for (const [name, us] of Object.entries(cpu))
    console.log(`  ${name.padEnd(10)} ${us.toFixed(1)} µs CPU per token`)
  console.log(`  gateway + worker + Redis   ${chainUs.toFixed(1)} µs CPU per token`)
  console.log(`  Redis commands per token   ${perToken(after.commands - before.commands).toFixed(4)}`)
  console.log(
    `  time to first token        p50 ${at(firstMs, 0.5)} ms, p99 ${at(firstMs, 0.99)} ms (${streams} at once)`,
  )
  console.log(`  gateway memory per stream  ${((flowingKib - idleKib) / streams).toFixed(1)} KiB`)

  async function snapshot() {
    return {
      cpu: Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, readCpuUs(pid)])),
      commands: await readRedisCommands(cluster.redis.url),
      tokens: await cluster.metric(cluster.simulator, 'simulator_tokens_total'),
    }
  }
} finally {
  agent.destroy()
  await cluster.stop()
  await teardown()
}

/** One lost, doubled or reordered token in any stream fails the run. */
function checkSame(results: readonly StreamResult[]) {
  const [first] = results
  for (const result of results) {
    if (result.text !== first?.text || result.completionTokens !== tokens) {
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
