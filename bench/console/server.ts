// Measures the server of the console, and compares the figures with their bars, the limits that the server must keep.
// There are 200 models, ten viewers, and 500 workers and 10 gateways that only publish.
//
//   npm run bench:console [-- --models 200 --workers 500 --gateways 10 --viewers 10 --seconds 30]
//
// Prints the console's CPU, memory and Redis commands with viewers and after they have left, and the bytes a second of
// each view. The console is measured after viewers have watched for half a minute, because V8 compiles until then. The
// publishers are in this process. The exit code is 1 if a bar is missed.
import { createServer } from 'node:http'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { streamAddress, type ViewName } from '#libs/live-view/addresses.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { freePort } from '../../test/support/free-port.ts'
import { setup, teardown } from '../../test/support/global-setup.ts'
import { startApp } from '../../test/support/processes.ts'
import { createRedis } from '../../test/support/redis.ts'
import { printBars } from '../harness/bars.ts'
import { readResidentKib, readThreadsCpuUs } from '../harness/process-cpu.ts'
import { readRedisTraffic, redisBetween } from '../harness/redis-commands.ts'
import { startFleet } from './fake-fleet.ts'

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: '200' },
    workers: { type: 'string', default: '500' },
    gateways: { type: 'string', default: '10' },
    viewers: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '30' },
  },
})
const [workers, gateways, viewers, seconds] = [
  Number(values.workers),
  Number(values.gateways),
  Number(values.viewers),
  Number(values.seconds),
]
const models = Array.from({ length: Number(values.models) }, (_, index) => `model-${index}`)
const VIEWS: readonly ViewName[] = ['now', 'workers', 'requests', `model:${models[0] ?? ''}`]
const WARM_UP_MS = 30_000
/**
 * The pause after the last viewer has left. Two things must happen within this time. The console notices that no page
 * is open. Then the gateways and workers of the fake fleet send fewer reports again (`fake-fleet.ts`).
 */
const SETTLE_MS = 15_000
/** About the size of all fields of one settlement. */
const SETTLEMENT_BYTES = 500
/** The bars of views, in KB/s to each viewer. */
const VIEW_BARS: Readonly<Partial<Record<ViewName, number>>> = { now: 20, workers: 60 }
/** The commands that publish the messages of the fake fleet; the console does not cause them. */
const PUBLISHED = ['publish']

await setup()
const redis = await createRedis()
const [bus, subscriber] = [new Redis(redis.url), new Redis(redis.url)]
// Accepts every token, because authorization is not measured.
const billing = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1')
await once(billing, 'listening')
const address = billing.address()
const billingPort = typeof address === 'object' && address !== null ? address.port : 0
const port = await freePort()
const app = await startApp('console', {
  PORT: String(port),
  BILLING_ADMIN_URL: `http://127.0.0.1:${billingPort}`,
  QUEUE_REDIS_URL: redis.url,
  BUS_REDIS_URL: redis.url,
  // The chart sets the same option.
  NODE_OPTIONS: '--max-semi-space-size=4',
  LOG_LEVEL: 'warn',
})
// Each model's settlement stream gets one entry, so that it exists. The console asks Redis for facts about each of
// these streams. For a stream that does not exist Redis returns an error, which costs the console more than an ordinary
// answer.
for (const model of models)
  await bus.xadd(settlementStreamKey(model), '*', 'settlement', 'x'.repeat(SETTLEMENT_BYTES))
const fleet = startFleet({ bus, subscriber }, { models, workers, gateways })
const over = new AbortController()
try {
  const bytes = new Map<ViewName, number>()
  const open = new Map<ViewName, number>()
  for (let number = 0; number < viewers; number += 1) {
    const view = VIEWS[number % VIEWS.length] ?? 'now'
    open.set(view, (open.get(view) ?? 0) + 1)
    void watch(view, (count) => bytes.set(view, (bytes.get(view) ?? 0) + count))
  }
  await sleep(WARM_UP_MS)
  bytes.clear()
  const watched = await measure()
  console.log(
    `${models.length} models, ${workers} workers, ${gateways} gateways, ${viewers} viewers, ${seconds} s`,
  )
  const kbPerS = (view: ViewName) => (bytes.get(view) ?? 0) / seconds / (open.get(view) ?? 1) / 1_000
  for (const view of bytes.keys()) {
    if (!(view in VIEW_BARS)) console.log(`  ${view}: ${kbPerS(view).toFixed(1)} KB/s to each viewer`)
  }
  const { heapMib, externalMib } = await readHeap()
  over.abort()
  await sleep(SETTLE_MS)
  const unwatched = await measure()
  console.log(`  of the memory ${heapMib.toFixed(0)} MiB V8's heap, ${externalMib.toFixed(0)} MiB buffers`)
  const noneMissed = printBars([
    ...VIEWS.filter((view) => open.has(view) && view in VIEW_BARS).map((view) => ({
      title: `${view}, to each viewer, uncompressed`,
      unit: ' KB/s',
      bar: VIEW_BARS[view] ?? Number.NaN,
      values: [kbPerS(view)],
    })),
    { title: 'CPU with viewers', unit: ' cores', bar: 0.1, values: [watched.cores] },
    { title: 'CPU without', unit: ' cores', bar: 0.01, values: [unwatched.cores] },
    { title: 'memory', unit: ' MiB', bar: 150, values: [watched.mib] },
    { title: 'Redis commands a second', unit: '', bar: 1_000, values: [watched.commandsPerS] },
  ])
  if (!noneMissed) process.exitCode = 1
} finally {
  over.abort()
  fleet.stop()
  await app.stop()
  billing.close()
  bus.disconnect()
  subscriber.disconnect()
  await redis.stop()
  await teardown()
}

async function measure() {
  const [cpuUs, traffic] = [readThreadsCpuUs(app.pid), await readRedisTraffic(redis.url)]
  await sleep(seconds * 1_000)
  const { calls } = redisBetween(traffic, await readRedisTraffic(redis.url))
  const commands = Object.entries(calls).filter(([name]) => !PUBLISHED.includes(name) && name !== 'info')
  return {
    cores: (readThreadsCpuUs(app.pid) - cpuUs) / (seconds * 1e6),
    mib: readResidentKib(app.pid) / 1_024,
    commandsPerS: commands.reduce((sum, [, count]) => sum + count, 0) / seconds,
  }
}

/** Returns the part of the memory that the console itself accounts for. */
async function readHeap(): Promise<{ heapMib: number; externalMib: number }> {
  const text = await (await fetch(`${app.opsUrl}/metrics`)).text()
  const read = (name: string) => {
    const value = new RegExp(String.raw`^${name} (\S+)$`, 'm').exec(text)?.[1]
    if (value === undefined) throw new Error(`there is no metric ${name}`)
    return Number(value) / 2 ** 20
  }
  return {
    heapMib: read('nodejs_heap_size_total_bytes'),
    externalMib: read('nodejs_external_memory_bytes'),
  }
}

async function watch(view: ViewName, onBytes: (count: number) => void): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${streamAddress(view)}`, {
    headers: { authorization: 'Bearer bench' },
    signal: over.signal,
  })
  if (!response.ok || response.body === null) throw new Error(`the stream answered ${response.status}`)
  try {
    for await (const chunk of response.body) onBytes(chunk.length)
  } catch (error) {
    if (!over.signal.aborted) throw error
  }
}
