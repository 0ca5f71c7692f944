// Measures in simulated time how well `retry-after` predicts the real wait of requests that a saturated model refuses.
//
//   npm run bench:retry [-- --seeds 1] [--gateways 1]
//   npm run bench:retry -- --cluster 200
//
// Admission, estimates and refusals use the gateway's code; a model of the queue's record takes the place of Redis.
// Requests arrive at 1.2, 1.5 and 3 times the rate that the engines can serve, and refused clients come back after
// `retry-after`, up to three times. The real wait of a refusal ends at the earliest moment at which the same gateway
// would have admitted the same request. `retry-after` is right if it differs from the real wait by at most a fifth, or by
// at most a second, because the header has whole seconds.
//
// Prints for each load, for the gateway's rule and for a simpler one: the share of right refusals, the median
// `retry-after`, the refusals by the record for each admitted request (each costs a reservation and its release), and
// the admitted requests. The bars, which are the required values, are printed last. The exit code is 1 if one is missed.
//
// `--cluster 200` sends the load of 1.5 to a cluster of real processes for 200 seconds instead. The first 80 seconds
// are not counted, because the gateway learns the lengths of the answers and the margins meanwhile.
import { parseArgs } from 'node:util'
import { createRefusals } from '#apps/gateway/generation/admission/refusals.ts'
import { simulateQueue } from '../test/support/simulate-queue.ts'
import { printBars, type Bar } from './harness/bars.ts'
import { quantile, toSpread } from './harness/spread.ts'
import { loadCluster } from './retry/load-cluster.ts'
import { ENGINES, LOADS, MIXES, toAccounts } from './retry/loads.ts'
import { shareAsTold } from './retry/share-as-told.ts'
import { createSimpleRefusals } from './retry/simple-rule.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    gateways: { type: 'string', default: '1' },
    cluster: { type: 'string' },
  },
})
/** Nine of ten refusals should be right. */
const GOAL = 0.9
/** On a machine with other work, requests and heartbeats are late. */
const CLUSTER_BAR = 0.8
const RULES = [
  { rule: 'simple', create: createSimpleRefusals },
  { rule: 'gateway', create: createRefusals },
]
const MEASURE_FROM_MS = 300_000
/** The simulation goes on until about this many requests were served. */
const SERVED = 4_000

const noneMissed = printBars(values.cluster === undefined ? simulate() : await load(Number(values.cluster)))
if (!noneMissed) process.exitCode = 1

function simulate(): Bar[] {
  const bars: Bar[] = []
  const columns = ['right', 'said s', 'enqueues', 'admitted'].map((column) => column.padStart(10)).join('')
  console.log(`${''.padEnd(54)}${RULES.map(({ rule }) => rule.padEnd(42)).join('')}`)
  console.log(`${''.padEnd(54)}${columns}${columns}`)
  for (const engines of ENGINES) {
    for (const mix of MIXES) {
      for (const load of LOADS) {
        const title = `${engines.name}, ${mix.name}, ${load} `
        const shares: number[] = []
        const cells = RULES.map(({ create }) => {
          shares.length = 0
          const results = seeds().map((seed) => {
            const result = simulateQueue({
              accounts: toAccounts({ engines, mix, load }),
              slots: engines.slots,
              stepMs: engines.stepMs,
              untilMs: MEASURE_FROM_MS + (SERVED * engines.output * engines.stepMs) / engines.slots,
              measureFromMs: MEASURE_FROM_MS,
              seed,
              gateways: Number(values.gateways),
              createRefusals: create,
            })
            shares.push(shareAsTold(result.refusals))
            return result
          })
          const sum = (of: (result: (typeof results)[number]) => number) =>
            results.reduce((all, result) => all + of(result), 0)
          const admitted = sum((result) => result.admitted)
          const saidS = results.flatMap(({ refusals }) => refusals.map(({ saidMs }) => saidMs / 1_000))
          return [
            toSpread(shares).median.toFixed(2),
            toSpread(saidS).median.toFixed(0),
            (sum((result) => result.refusedEnqueues) / admitted).toFixed(2),
            String(admitted),
          ]
        })
        console.log(
          `${title.padEnd(54)}${cells
            .flat()
            .map((cell) => cell.padStart(10))
            .join('')}`,
        )
        bars.push({ title, unit: '', bar: engines.bar, stretch: GOAL, isFloor: true, values: [...shares] })
      }
    }
  }
  return bars
}

function seeds(): number[] {
  return Array.from({ length: Number(values.seeds) }, (_, at) => at + 1)
}

async function load(seconds: number): Promise<Bar[]> {
  const { attempts, refusals, takenMs, quickShare, meanMs } = await loadCluster(seconds)
  const sorted = takenMs.toSorted((a, b) => a - b)
  const said = toSpread(refusals.map(({ saidMs }) => saidMs / 1_000))
  const quantiles = [0.5, 0.99].map((at) => quantile(sorted, at).toFixed(1))
  const longer = refusals.filter(({ saidMs, realMs }) => realMs > saidMs + 1_000).length / refusals.length
  console.log(`${attempts} requests, ${takenMs.length} refusals, median retry-after ${said.median} s`)
  console.log(`the real wait is over a second longer than retry-after in a share of ${longer.toFixed(2)}`)
  console.log(
    `a refusal takes the gateway ${meanMs.toFixed(1)} ms on average, ${quickShare.toFixed(3)} of them ≤ 10 ms`,
  )
  console.log(`as its client sees it: p50 ${quantiles[0]} ms, p99 ${quantiles[1]} ms`)
  return [
    {
      title: 'right retry-after',
      unit: '',
      bar: CLUSTER_BAR,
      stretch: GOAL,
      isFloor: true,
      values: [shareAsTold(refusals)],
    },
  ]
}
