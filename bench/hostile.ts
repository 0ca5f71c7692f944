// Measures the effect of hostile requests on other callers. Steady streams run through a real cluster. The gaps between
// their tokens are measured in turns without and with a barrage. The barrage consists of bodies that are made to block
// an event loop, and of connections that send nothing or half a header. The measurement is repeated for a barrage with
// 1, 8 and 100 connections, each time with the key of an account without credits and with the key of an account with
// credits.
//
//   npm run bench:hostile [-- --streams 20 --rate 20 --seconds 8 --rounds 2 --connections 1,8,100 --bodies all]
//
// `--bodies small` sends only bodies below 64 KiB, `large` only the others.
//
// The barrage is a separate process at the lowest priority. Its own CPU time disturbs the streams little, so the
// difference comes from the work that the barrage causes in the cluster. Each round prints two lines, without and with
// the barrage, which are measured right after each other. Compare these two lines only within a round. The differences
// between rounds show the noise of the machine.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { setPriority } from 'node:os'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { startCluster, type TestCluster } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { runBarrage, type BarrageReport } from './harness/barrage.ts'
import { printBars, type Bar } from './harness/bars.ts'
import { largeHostileBodies, smallHostileBodies } from './harness/hostile-bodies.ts'
import { quantile, toSpread } from './harness/spread.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '20' },
    rate: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '1,8,100' },
    bodies: { type: 'string', default: 'all' },
    /** The argument with which this file starts itself as the barrage. */
    barrage: { type: 'string' },
  },
})
const MODEL = 'demo-chat'
const EMBEDDING_MODEL = 'demo-embed'
const LOWEST_PRIORITY = 19
const MOST_RATIO = 2
/**
 * With this number of connections or more, the gaps between tokens are printed without a bar (a required value): the
 * work of the kernel alone already uses the whole machine.
 */
const MANY_CONNECTIONS = 100

const Order = z.object({ baseUrl: z.string(), apiKey: z.string(), connections: z.int() })
type Order = z.infer<typeof Order>

type Gap = { readonly atMs: number; readonly ms: number }
type Figures = { readonly p50: number; readonly p99: number; readonly max: number }
type Round = {
  readonly quiet: Figures
  readonly loud: Figures
  readonly lost: number
  readonly deaths: number
}

if (values.barrage === undefined) await measure()
else await obey()

/**
 * Runs in the barrage's process. A message from the parent starts a barrage. The next message stops the barrage; the
 * answer to that message is the barrage's report.
 */
async function obey() {
  const models = { chat: MODEL, embedding: EMBEDDING_MODEL }
  const [small, large] = [smallHostileBodies(models), largeHostileBodies(models)]
  const bodies = { small, large, all: [...small, ...large] }[
    z.enum(['small', 'large', 'all']).parse(values.bodies)
  ]
  for (;;) {
    const [order] = await once(process, 'message')
    const stop = new AbortController()
    const ended = runBarrage({ ...Order.parse(order), bodies, signal: stop.signal })
    await once(process, 'message')
    stop.abort()
    process.send?.(await ended)
  }
}

async function measure() {
  const [streams, rate] = [Number(values.streams), Number(values.rate)]
  const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)]
  const counts = values.connections.split(',').map(Number)
  await setup()
  const cluster = await startCluster({
    workers: [
      [
        { model: MODEL, files: 'demo', maxNumSeqs: streams + 8, stepMs: 1_000 / rate, sequenceMs: 0 },
        { model: EMBEDDING_MODEL, files: 'demo', kind: 'embedding' },
      ],
    ],
  })
  const steady = await cluster.createAccount('1000')
  const keys = {
    'without credits': await createKeyWithoutCredits(cluster),
    'with credits': (await cluster.createAccount('1000')).apiKey,
  }
  const barrage = fork(import.meta.filename, ['--barrage', 'yes', '--bodies', values.bodies])
  if (barrage.pid !== undefined) setPriority(barrage.pid, LOWEST_PRIORITY)
  const hangUp = new AbortController()
  try {
    const watched: { gaps: Gap[]; lost: number } = { gaps: [], lost: 0 }
    for (let i = 0; i < streams; i += 1) {
      followStream({ baseUrl: cluster.baseUrl, apiKey: steady.apiKey, watched, signal: hangUp.signal })
    }
    await pause(3)
    console.log(`Gap between tokens, ${streams} streams at ${rate} tokens/s`)
    const report: BarrageReport = {}
    const bars: Bar[] = []
    for (const connections of counts) {
      for (const [kind, apiKey] of Object.entries(keys)) {
        const measured: Round[] = []
        for (let round = 0; round < rounds; round += 1) {
          const [lost, deaths] = [watched.lost, countDeaths(cluster)]
          const quiet = await gapsWithin(watched.gaps, seconds)
          barrage.send({ baseUrl: cluster.baseUrl, apiKey, connections } satisfies Order)
          const loud = await gapsWithin(watched.gaps, seconds)
          barrage.send('stop')
          const [answers] = await once(barrage, 'message')
          addReport(report, answers)
          await pause(2)
          measured.push({ quiet, loud, lost: watched.lost - lost, deaths: countDeaths(cluster) - deaths })
        }
        const title = `${connections} × ${kind}`
        printRounds(title, measured)
        bars.push(...toBars(title, connections, measured))
      }
    }
    printReport(report)
    if (!printBars(bars)) process.exitCode = 1
  } finally {
    hangUp.abort()
    barrage.kill()
    await cluster.stop()
    await teardown()
  }
}

async function createKeyWithoutCredits({ admin }: TestCluster): Promise<string> {
  const { id } = await admin.call(ADMIN.createAccount, { name: 'without credits' })
  return (await admin.call(ADMIN.createKey, { account: id, name: 'without credits' })).secret
}

/** Returns how often a process declared another one dead. No process dies here, so each such judgement is wrong. */
function countDeaths({ workers, gateways, billing }: TestCluster): number {
  const logs = [...workers, ...gateways, billing].map((app) => app.logs())
  return logs.join('\n').split('"peer is dead"').length - 1
}

/** Keeps one stream open; when it ends, opens the next one. Records the times between the arrivals of its text. */
function followStream(options: {
  baseUrl: string
  apiKey: string
  watched: { gaps: Gap[]; lost: number }
  signal: AbortSignal
}): void {
  const { baseUrl, apiKey, watched, signal } = options
  const outgoing = request(`${baseUrl}/chat/completions`, {
    method: 'POST',
    signal,
    headers: { authorization: `Bearer ${apiKey}` },
  })
  const goOn = (isWhole: boolean) => {
    if (signal.aborted) return
    if (!isWhole) watched.lost += 1
    followStream(options)
  }
  outgoing.on('response', (response) => {
    let lastMs: number | null = null
    let end = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      const nowMs = performance.now()
      if (lastMs !== null) watched.gaps.push({ atMs: nowMs, ms: nowMs - lastMs })
      lastMs = nowMs
      end = (end + chunk).slice(-200)
    })
    response.on('end', () => goOn(end.endsWith('data: [DONE]\n\n') && !end.includes('"error"')))
    response.on('error', () => goOn(false))
  })
  outgoing.on('error', () => setTimeout(() => goOn(false), 100))
  const content = '[[tokens=2000]]'
  outgoing.end(JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content }] }))
}

/** Returns the gaps that end within the given seconds. */
async function gapsWithin(gaps: readonly Gap[], seconds: number): Promise<Figures> {
  const fromMs = performance.now()
  await pause(seconds)
  const sorted = gaps.filter(({ atMs }) => atMs >= fromMs).map(({ ms }) => ms)
  sorted.sort((a, b) => a - b)
  // No stream had a token in the whole time.
  if (sorted.length === 0) return { p50: seconds * 1_000, p99: seconds * 1_000, max: seconds * 1_000 }
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), max: quantile(sorted, 1) }
}

function addReport(total: BarrageReport, part: BarrageReport): void {
  for (const [kind, counts] of Object.entries(part)) {
    const sum = (total[kind] ??= {})
    for (const [status, count] of Object.entries(counts)) sum[status] = (sum[status] ?? 0) + count
  }
}

function toBars(title: string, connections: number, rounds: readonly Round[]): Bar[] {
  const ratios = rounds.map(({ quiet, loud }) => loud.p99 / quiet.p99)
  return [
    ...(connections < MANY_CONNECTIONS
      ? [{ title: `${title}: gap p99, with / without`, unit: ' ×', bar: MOST_RATIO, values: ratios }]
      : []),
    { title: `${title}: streams lost`, unit: '', bar: 0, values: [sumOf(rounds.map(({ lost }) => lost))] },
    {
      title: `${title}: taken for dead`,
      unit: '',
      bar: 0,
      values: [sumOf(rounds.map(({ deaths }) => deaths))],
    },
  ]
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

function printRounds(title: string, rounds: readonly Round[]): void {
  const line = ({ p50, p99, max }: Figures) =>
    `p50 ${p50.toFixed(0).padStart(4)} ms   p99 ${p99.toFixed(0).padStart(5)} ms   max ${max.toFixed(0).padStart(5)} ms`
  console.log(title)
  for (const [index, { quiet, loud }] of rounds.entries()) {
    console.log(`  round ${index + 1}  without  ${line(quiet)}`)
    console.log(`           with     ${line(loud)}`)
  }
  const { min, median, max } = toSpread(rounds.map(({ quiet, loud }) => loud.p99 / quiet.p99))
  console.log(
    `  p99 with / without: median ${median.toFixed(2)}, from ${min.toFixed(2)} to ${max.toFixed(2)}`,
  )
}

function printReport(report: BarrageReport): void {
  console.log('The barrage was answered:')
  for (const [kind, counts] of Object.entries(report)) {
    const statuses = Object.entries(counts).map(([status, count]) => `${count} × ${status}`)
    console.log(`  ${kind.padEnd(44)} ${statuses.join(', ')}`)
  }
}

async function pause(s: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, s * 1_000)
  await promise
}
