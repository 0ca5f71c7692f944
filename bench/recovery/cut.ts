import { startFaultyCluster } from '../../test/support/faulty-cluster/faulty-cluster.ts'
import { watchStreams } from '../harness/watched-streams.ts'
import { generated } from './generated.ts'
import { printGaps } from './print.ts'

const MODEL = 'demo-chat'
const SECONDS = 8

/**
 * Measures the pause of streams when a connection to the bus is reset, and checks that no token was generated twice.
 */
export async function measureCut({ streams, rate }: { streams: number; rate: number }): Promise<void> {
  const engine = { model: MODEL, files: 'demo', maxNumSeqs: streams, stepMs: 1_000 / rate, sequenceMs: 0 }
  const cluster = await startFaultyCluster({ gateways: 1, workers: 1, billings: 1, engines: [engine] })
  try {
    const [gateway] = cluster.gateways
    const [simulator] = cluster.simulators
    if (gateway === undefined || simulator === undefined)
      throw new Error('there is no gateway or no simulator')
    const { apiKey } = await cluster.createAccount('1000')
    for (const name of ['worker-1→bus', 'gateway-1→bus']) {
      const before = await generated(simulator)
      const tokens = rate * SECONDS
      const watched = watchStreams({
        baseUrl: gateway.baseUrl,
        apiKey,
        model: MODEL,
        count: streams,
        tokens,
      })
      await watched.reach(rate)
      const cutMs = performance.now()
      cluster.links.find((link) => link.name === name)?.cut()
      await watched.finished
      const twice = (await generated(simulator)) - before - streams * tokens
      console.log(`connection ${name} cut with ${streams} streams`)
      printGaps('longest gap of each stream', watched.longestGapsMs(cutMs), 'max 1500 ms')
      console.log(`  ${'tokens generated twice'.padEnd(44)} ${twice}   (bar: 0)`)
    }
  } finally {
    await cluster.stop()
  }
}
