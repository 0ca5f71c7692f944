import { startFaultyCluster } from '../../test/support/faulty-cluster/faulty-cluster.ts'
import { watchStreams } from '../harness/watched-streams.ts'
import { printGaps } from './print.ts'

const MODEL = 'demo-chat'
const BARS = { kill: 'p99 5000 ms, detection 3500 ms', terminate: 'p99 500 ms' }
/** How long the streams continue after the end of the worker. */
const REST_S = 15

/** Measures the pause of streams whose worker is killed, or receives SIGTERM, while another worker has room. */
export async function measureEnd(
  how: 'kill' | 'terminate',
  { streams, rate }: { streams: number; rate: number },
): Promise<void> {
  const engine = { model: MODEL, files: 'demo', maxNumSeqs: streams, stepMs: 1_000 / rate, sequenceMs: 0 }
  const cluster = await startFaultyCluster({ gateways: 1, workers: 1, billings: 1, engines: [engine] })
  try {
    const [gateway] = cluster.gateways
    const [worker] = cluster.workers
    if (gateway === undefined || worker === undefined) throw new Error('there is no gateway or no worker')
    const { apiKey } = await cluster.createAccount('1000')
    const watched = watchStreams({
      baseUrl: gateway.baseUrl,
      apiKey,
      model: MODEL,
      count: streams,
      // The next worker takes some seconds to start.
      tokens: rate * (REST_S + 15),
    })
    await watched.flowing
    // This worker starts only now, so that every stream runs on the worker that will end.
    await cluster.startWorker('worker-2')
    const endedMs = performance.now()
    const endedAt = Date.now()
    const ended = worker.end(how === 'kill' ? 'killed' : 'stopped')
    await watched.finished
    await ended
    console.log(`${how === 'kill' ? 'SIGKILL' : 'SIGTERM'} of a worker with ${streams} streams`)
    printGaps('longest gap of each stream', watched.longestGapsMs(endedMs), BARS[how])
    const noticedAt = firstNotice(gateway.process().logs?.() ?? '', endedAt)
    if (how === 'kill') console.log(`  ${'the gateway noticed after'.padEnd(44)} ${noticedAt ?? '?'} ms`)
  } finally {
    await cluster.stop()
  }
}

/**
 * Returns the milliseconds from `sinceMs` to the gateway's first log line about a lost worker; null if there is none.
 */
function firstNotice(logs: string, sinceMs: number): number | null {
  for (const line of logs.split('\n')) {
    if (!/dead|gone|lost/u.test(line)) continue
    const { time }: { time?: number | string } = JSON.parse(line)
    const atMs = new Date(time ?? Number.NaN).getTime()
    if (atMs >= sinceMs) return atMs - sinceMs
  }
  return null
}
