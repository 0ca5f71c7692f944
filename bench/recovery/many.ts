import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultyCluster } from '../../test/support/faulty-cluster/faulty-cluster.ts'
import { quantile } from '../harness/spread.ts'
import { watchStreams } from '../harness/watched-streams.ts'
import { writeCatalog } from '../harness/write-catalog.ts'
import { generated } from './generated.ts'
import { printGaps } from './print.ts'

const MODEL = 'demo-chat'
const OTHERS = 24
const RATE = 30
const UNDISTURBED_S = 10
/** How long the other streams last: until the many streams have continued. */
const OTHERS_S = 80
/** The number of tokens that the streams write after they were dispatched again. */
const REST = 400
/**
 * The number of tokens in one message of the first engine. It is large, because that engine generates a million tokens
 * before anything is measured.
 */
const INTERVAL = 40

/**
 * Measures the pause of `streams` streams that lose their worker after `tokens` tokens. All continue on another worker,
 * which serves other streams. Compares the other streams' gaps before and after the loss.
 */
export async function measureMany({ streams, tokens }: { streams: number; tokens: number }): Promise<void> {
  const length = tokens + REST
  const window = Math.max(length, RATE * OTHERS_S) + 200
  const engine = {
    model: MODEL,
    files: 'demo',
    maxNumSeqs: streams + OTHERS,
    maxModelLen: window,
    kvBlocks: Math.ceil(window / 16) * (streams + OTHERS),
    stepMs: 1_000 / RATE,
    sequenceMs: 0,
    // These are the prefill speed and the largest step of a large GPU with a small model. A step that also computes
    // 1,024 tokens of prompts takes at most twice as long as a step without prompts.
    prefillTokensPerS: 40_000,
    maxNumBatchedTokens: 1_024,
  }
  const cluster = await startFaultyCluster({
    gateways: 1,
    workers: 1,
    billings: 1,
    engines: [{ ...engine, streamInterval: INTERVAL, stepMs: 4, maxNumSeqs: streams }],
    env: {
      billing: { CATALOG_FILE: writeCatalog(MODEL, { maxOutputTokens: Math.max(length, RATE * OTHERS_S) }) },
    },
  })
  try {
    const [gateway] = cluster.gateways
    const [worker] = cluster.workers
    const [simulator] = cluster.simulators
    if (gateway === undefined || worker === undefined || simulator === undefined)
      throw new Error('the cluster is not whole')
    const { apiKey } = await cluster.createAccount('10000')
    const call = { baseUrl: gateway.baseUrl, apiKey, model: MODEL }
    const many = watchStreams({ ...call, count: streams, tokens: length })
    while ((await generated(simulator)) < streams * tokens) await sleep(100)
    // The many streams hang, so that none of them ends before the kill or disturbs the measurement.
    await cluster.changeEngines(simulator, { hangs: true })

    await cluster.startWorker('worker-2', [engine])
    const others = watchStreams({ ...call, count: OTHERS, tokens: RATE * OTHERS_S })
    await others.flowing
    await sleep(2_000)
    const beganMs = performance.now()
    await sleep(UNDISTURBED_S * 1_000)
    const killedMs = performance.now()
    await worker.end('killed')
    await many.finished
    const overMs = performance.now()

    console.log(
      `SIGKILL of a worker with ${streams} streams of ${tokens} tokens; ${OTHERS} others on the next one`,
    )
    const [before, during] = [others.gapsMs(beganMs, killedMs), others.gapsMs(killedMs, overMs)]
    printGaps('gaps of the others before', before)
    printGaps('gaps of the others until all had continued', during)
    const ratio = quantile(during, 0.99) / quantile(before, 0.99)
    console.log(`  ${'p99 against before'.padEnd(44)} ${ratio.toFixed(2)}   (bar: 2)`)
    printGaps('pause of each of the many', many.nextPiecesMs(killedMs))
    console.log(`  ${'all had ended after'.padEnd(44)} ${((overMs - killedMs) / 1_000).toFixed(1)} s`)
    await others.finished
  } finally {
    await cluster.stop()
  }
}
