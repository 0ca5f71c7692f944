// Runs for a long time at half of the machine's capacity, to show growth and errors that a short run does not show.
// Sends mixed requests of every operation to two gateways and two workers. Clients hang up one stream in eight. Before
// the load, each kind of request is sent to both gateways and its answer is noted. Every later answer is compared with
// the noted answer, and every charge with the answer that it pays for.
//
//   npm run soak -- --minutes 30 [--load 0.5] [--seed N]
//
// Prints a line each minute. At the end it prints the growth of each process's memory and file handles, the event
// loops' delays, and the growth of Redis. Each growth is printed with its noise (`Trend`). Memory is measured once a
// minute, right after a garbage collection, because the growth of V8's heap between collections does not show a leak.
// Redis keeps settlements for an hour, longer than most runs, so their memory is subtracted from the memory of Redis.
// The first third of the time is warm-up. The bars, which are the required values, are printed last. The exit code is 1
// if a bar is missed, or if an answer, a charge or a key is wrong.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { openBooks } from '../test/chaos/books.ts'
import { checkCharges } from '../test/chaos/check-charges.ts'
import { checkKeys } from '../test/chaos/check-keys.ts'
import type { Asked } from '../test/chaos/clients.ts'
import { drawAsks } from '../test/chaos/asks.ts'
import { learn } from '../test/chaos/learn.ts'
import { createRandom } from '../test/chaos/random.ts'
import { startCluster, type TestAccount } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { printBars } from './harness/bars.ts'
import { quantile } from './harness/spread.ts'
import { measureCapacity, offerRequests } from './soak/offer-requests.ts'
import { collectGarbage, COLLECTS, readSample, type Sample, type Watched } from './soak/read-sample.ts'
import { toTrend } from './soak/trend.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    load: { type: 'string', default: '0.5' },
    seed: { type: 'string', default: String(randomInt(1, 1_000_000)) },
  },
})
const minutes = Number(values.minutes)
const random = createRandom(Number(values.seed))

const SAMPLE_MS = 10_000
const SAMPLES_PER_MINUTE = 6
const CAPACITY_CLIENTS = 48
const CAPACITY_S = 20
const DEADLINE_MS = 60_000
const REST_LIMIT_MS = 60_000
const CREDITS = '100000'

const engines = ['demo-chat', 'demo-reasoning', 'demo-embed'].map((model) => ({
  model,
  files: model === 'demo-reasoning' ? model : 'demo',
  kind: model === 'demo-embed' ? ('embedding' as const) : ('chat' as const),
  maxNumSeqs: 48,
  stepMs: 10,
  sequenceMs: 0.1,
}))

await setup()
const cluster = await startCluster({
  gateways: 2,
  workers: [engines, engines],
  logLevel: 'warn',
  gatewayEnv: COLLECTS,
  workerEnv: COLLECTS,
  billingEnv: COLLECTS,
})
const books = openBooks(cluster.databaseUrl)
const redis = new Redis(cluster.redis.url)
const problems: string[] = []
try {
  const accounts = [await cluster.createAccount(CREDITS), await cluster.createAccount(CREDITS)]
  // This account pays for the two kinds of requests that are sent before the load: the requests whose answers are
  // noted, and the requests that measure the capacity. The account's charges are not checked.
  const learner = await cluster.createAccount(CREDITS)
  const gateways = cluster.gateways.map(({ baseUrl }, index) => ({
    name: `gateway ${index + 1}`,
    baseUrl,
    isUp: () => true,
    ends: () => [],
  }))
  const asks = await learn(gateways, {
    asks: drawAsks(random.fork('asks')),
    account: learner,
    books,
  })
  const toPayer = (account: TestAccount) => ({ account, isPoor: false })
  const payers = accounts.map(toPayer)
  const options = { gateways, payers, asks, hangMs: DEADLINE_MS, deadlineMs: DEADLINE_MS }
  const clients = { random: random.fork('capacity'), clients: CAPACITY_CLIENTS, seconds: CAPACITY_S }
  const capacity = await measureCapacity({ ...options, payers: [toPayer(learner)] }, clients)
  const perS = capacity * Number(values.load)
  console.log(`seed ${values.seed}: ${capacity.toFixed(1)} requests/s with ${CAPACITY_CLIENTS} clients;`)
  console.log(`${minutes} minutes at ${perS.toFixed(1)}/s`)

  const watched: readonly Watched[] = [
    ...cluster.gateways.map(({ pid, opsUrl }, index) => ({ name: `gateway ${index + 1}`, pid, opsUrl })),
    ...cluster.workers.map(({ pid, opsUrl }, index) => ({ name: `worker ${index + 1}`, pid, opsUrl })),
    { name: 'billing', pid: cluster.billing.pid, opsUrl: cluster.billing.opsUrl },
    { name: 'redis', pid: cluster.redis.pid() },
  ]
  const outcomes = new Map<string, number>()
  /** The ended requests, without the answers, which would fill the memory. */
  const ended: Asked[] = []
  const stopping = new AbortController()
  const offered = offerRequests({
    ...options,
    random: random.fork('load'),
    perS,
    signal: stopping.signal,
    onAsked(asked) {
      outcomes.set(asked.outcome.kind, (outcomes.get(asked.outcome.kind) ?? 0) + 1)
      if (asked.outcome.kind === 'wrong') problems.push(`${asked.ask.name}: ${asked.outcome.why}`)
      if (asked.outcome.kind === 'error') problems.push(`${asked.ask.name}: ${asked.outcome.code}`)
      ended.push({ ...asked, call: { ...asked.call, body: '' } })
    },
  })

  const models = engines.map(({ model }) => model)
  const samples: Sample[] = []
  /** Samples taken once a minute, right after a garbage collection. */
  const collected: Sample[] = []
  const startMs = performance.now()
  while (performance.now() - startMs < minutes * 60_000) {
    await pauseUntil(startMs + (samples.length + 1) * SAMPLE_MS)
    samples.push(await readSample(watched, { redis, models }))
    if (samples.length % SAMPLES_PER_MINUTE !== 0) continue
    await collectGarbage(watched)
    const sample = await readSample(watched, { redis, models })
    collected.push(sample)
    sayMinute(sample, collected.length)
  }
  stopping.abort()
  await offered

  const giveUpMs = performance.now() + REST_LIMIT_MS
  while ((await books.openHolds()) > 0 && performance.now() < giveUpMs)
    await pauseUntil(performance.now() + 500)
  const rows = await books.all(accounts.map(({ id }) => id))
  problems.push(...checkCharges({ asked: ended, rows, endsOf: () => [], checked: new Set() }))
  for (const [question, count] of Object.entries(await cluster.reconcile()))
    if (count !== 0) problems.push(`reconciliation: ${count} ${question}`)
  problems.push(...(await checkKeys(cluster.redis.url)).problems)

  if (!report(withoutWarmUp(samples), withoutWarmUp(collected))) process.exitCode = 1
  const counts = Array.from(outcomes, ([kind, count]) => `${count} ${kind}`).join(', ')
  console.log(`requests: ${counts}; problems: ${problems.length}`)
  for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`)
  if (problems.length > 0) process.exitCode = 1

  function sayMinute({ processes, redis: { keys, usedMib, settlementsMib } }: Sample, minute: number) {
    const figures = Object.entries(processes).map(([name, { residentMib, heldMib, files }]) => {
      const held = heldMib === null ? '' : ` (holds ${heldMib.toFixed(1)})`
      return `${name} ${residentMib.toFixed(0)}${held} MiB ${files}`
    })
    console.log(
      `  ${String(minute).padStart(3)} min  ${figures.join(' · ')} files; ` +
        `${keys} keys ${usedMib.toFixed(1)} MiB, settlements ${settlementsMib.toFixed(1)}`,
    )
  }

  /** Prints the growth after the warm-up, and the bars. Returns true if all bars are met. */
  function report(after: readonly Sample[], afterCollecting: readonly Sample[]): boolean {
    const grown: number[] = []
    const line = (title: string, unit: string, figures: readonly number[]) => {
      const { median, growth, noise } = toTrend(figures)
      // A value that never changes has a noise of 0, so the noise counts as at least half a unit.
      grown.push(growth / Math.max(noise, 0.5))
      console.log(
        `  ${title.padEnd(24)} ${median.toFixed(1)} ${unit}, grew ${growth.toFixed(2)}, noise ${noise.toFixed(2)}`,
      )
    }
    for (const { name, opsUrl } of watched)
      if (opsUrl !== undefined)
        line(
          `${name} holds`,
          'MiB',
          readAll(afterCollecting, name, (it) => it.heldMib),
        )
    for (const { name } of watched)
      line(
        `${name} files`,
        '',
        readAll(after, name, (it) => it.files),
      )
    const redisOf = (read: (figures: Sample['redis']) => number) => after.map((it) => read(it.redis))
    line(
      'Redis keys',
      '',
      redisOf((it) => it.keys),
    )
    line(
      'Redis memory',
      'MiB',
      redisOf((it) => it.usedMib - it.settlementsMib),
    )
    const delays = watched
      .filter(({ name }) => /gateway|worker/u.test(name))
      .map(({ name }) => {
        const sorted = readAll(after, name, (it) => it.loopP99Ms).toSorted((a, b) => a - b)
        const [median, worst] = [quantile(sorted, 0.5), quantile(sorted, 1)]
        console.log(
          `  ${`${name} event loop`.padEnd(24)} p99 of 10 s: median ${median.toFixed(1)}, worst ${worst.toFixed(1)} ms`,
        )
        return median
      })
    return printBars([
      { title: 'largest growth', unit: ' × its noise', bar: 1, values: [Math.max(...grown)] },
      { title: 'event-loop p99, slowest process', unit: ' ms', bar: 20, values: [Math.max(...delays)] },
    ])
  }
} finally {
  redis.disconnect()
  await books.close()
  await cluster.stop()
  await teardown()
}

function withoutWarmUp(samples: readonly Sample[]): Sample[] {
  return samples.slice(Math.floor(samples.length / 3))
}

function readAll(
  samples: readonly Sample[],
  name: string,
  read: (sample: Sample['processes'][string]) => number | null,
): number[] {
  return samples.map(({ processes }) => {
    const sample = processes[name]
    return (sample === undefined ? null : read(sample)) ?? Number.NaN
  })
}

async function pauseUntil(atMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, Math.max(0, atMs - performance.now()))
  await promise
}
