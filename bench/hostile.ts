// The effect of hostile requests on other callers. Steady streams run through a real cluster; the gaps between their
// tokens are measured in turns without and with a barrage of bodies that are made to block an event loop, and of
// connections that send nothing.
//
//   npm run bench:hostile [-- --streams 20 --rate 20 --seconds 8 --rounds 4]
//
// The barrage is a process of its own at the lowest priority, so that its own CPU time disturbs little and the difference
// is the work that it causes in the cluster. The two lines of a round are measured right after each other: compare them
// within a round, and the rounds with each other for the noise of the machine.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { setPriority } from 'node:os'
import { parseArgs } from 'node:util'
import { startCluster } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { runBarrage, type BarrageReport } from './harness/barrage.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '20' },
    rate: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '4' },
    /** How this file starts itself as the barrage. */
    barrage: { type: 'string' },
  },
})
const MODEL = 'demo-chat'
const LOWEST_PRIORITY = 19

type Gap = { readonly atMs: number; readonly ms: number }
type Figures = { readonly p50: number; readonly p99: number; readonly max: number }

if (values.barrage === undefined) await measure()
else await obey(JSON.parse(values.barrage))

/** The barrage's process: a message from its parent starts the barrage; the next one stops it and is answered. */
async function obey(target: { baseUrl: string; apiKey: string }) {
  for (;;) {
    await once(process, 'message')
    const stop = new AbortController()
    const ended = runBarrage({ ...target, model: MODEL, signal: stop.signal })
    await once(process, 'message')
    stop.abort()
    process.send?.(await ended)
  }
}

async function measure() {
  const [streams, rate] = [Number(values.streams), Number(values.rate)]
  const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)]
  await setup()
  const cluster = await startCluster({
    workers: [
      [{ model: MODEL, files: 'demo', maxNumSeqs: streams + 8, stepMs: 1_000 / rate, sequenceMs: 0 }],
    ],
  })
  const steady = await cluster.createAccount('1000')
  const hostile = await cluster.createAccount('1000')
  const target = JSON.stringify({ baseUrl: cluster.baseUrl, apiKey: hostile.apiKey })
  const barrage = fork(import.meta.filename, ['--barrage', target])
  if (barrage.pid !== undefined) setPriority(barrage.pid, LOWEST_PRIORITY)
  const hangUp = new AbortController()
  try {
    const gaps: Gap[] = []
    for (let i = 0; i < streams; i += 1) {
      followStream({ baseUrl: cluster.baseUrl, apiKey: steady.apiKey, gaps, signal: hangUp.signal })
    }
    await pause(3)
    const quiet: Figures[] = []
    const loud: Figures[] = []
    const report: BarrageReport = {}
    for (let round = 0; round < rounds; round += 1) {
      quiet.push(await gapsWithin(gaps, seconds))
      barrage.send('start')
      loud.push(await gapsWithin(gaps, seconds))
      barrage.send('stop')
      const [answers] = await once(barrage, 'message')
      addReport(report, answers)
      await pause(2)
    }
    print({ streams, rate, quiet, loud, report })
  } finally {
    hangUp.abort()
    barrage.kill()
    await cluster.stop()
    await teardown()
  }
}

/** Keeps one stream open, the next one after its end, and notes the time between the arrivals of its text. */
function followStream(options: { baseUrl: string; apiKey: string; gaps: Gap[]; signal: AbortSignal }): void {
  const { baseUrl, apiKey, gaps, signal } = options
  const outgoing = request(`${baseUrl}/chat/completions`, {
    method: 'POST',
    signal,
    headers: { authorization: `Bearer ${apiKey}` },
  })
  outgoing.on('response', (response) => {
    let lastMs: number | null = null
    response.on('data', () => {
      const nowMs = performance.now()
      if (lastMs !== null) gaps.push({ atMs: nowMs, ms: nowMs - lastMs })
      lastMs = nowMs
    })
    response.on('end', () => followStream(options))
    response.on('error', () => {})
  })
  outgoing.on('error', (error) => {
    if (!signal.aborted) throw error
  })
  const content = '[[tokens=2000]]'
  outgoing.end(JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content }] }))
}

/** The gaps that end within the next seconds. */
async function gapsWithin(gaps: Gap[], seconds: number): Promise<Figures> {
  const fromMs = performance.now()
  await pause(seconds)
  const sorted = gaps.filter(({ atMs }) => atMs >= fromMs).map(({ ms }) => ms)
  sorted.sort((a, b) => a - b)
  if (sorted.length === 0) throw new Error('no stream flows')
  return { p50: at(sorted, 0.5), p99: at(sorted, 0.99), max: at(sorted, 1) }
}

function at(sorted: readonly number[], quantile: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] ?? Number.NaN
}

function addReport(total: BarrageReport, part: BarrageReport): void {
  for (const [kind, counts] of Object.entries(part)) {
    const sum = (total[kind] ??= {})
    for (const [status, count] of Object.entries(counts)) sum[status] = (sum[status] ?? 0) + count
  }
}

function print(result: {
  streams: number
  rate: number
  quiet: readonly Figures[]
  loud: readonly Figures[]
  report: BarrageReport
}): void {
  const { quiet, loud } = result
  const line = ({ p50, p99, max }: Figures) =>
    `p50 ${p50.toFixed(0).padStart(4)} ms   p99 ${p99.toFixed(0).padStart(5)} ms   max ${max.toFixed(0).padStart(5)} ms`
  console.log(`Gap between tokens, ${result.streams} streams at ${result.rate} tokens/s`)
  for (const [round, figures] of quiet.entries()) {
    const other = loud[round] ?? figures
    console.log(`  round ${round + 1}  without  ${line(figures)}`)
    console.log(`           with     ${line(other)}`)
  }
  for (const name of ['p50', 'p99', 'max'] as const) {
    const ratios = quiet.map((figures, round) => (loud[round]?.[name] ?? Number.NaN) / figures[name])
    const sorted = ratios.toSorted((a, b) => a - b)
    console.log(
      `  ${name} with / without: median ${at(sorted, 0.5).toFixed(2)}, ` +
        `from ${at(sorted, 0).toFixed(2)} to ${at(sorted, 1).toFixed(2)}`,
    )
  }
  console.log('The barrage was answered:')
  for (const [kind, counts] of Object.entries(result.report)) {
    const statuses = Object.entries(counts).map(([status, count]) => `${count} × ${status}`)
    console.log(`  ${kind.padEnd(44)} ${statuses.join(', ')}`)
  }
}

async function pause(s: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, s * 1_000)
  await promise
}
