// Compares Millrace with vLLM's own HTTP server on a real engine: `npm run bench:gpu -- --help`.
import { setTimeout as sleep } from 'node:timers/promises'
import { sumMetric } from '../test/support/cluster.ts'
import { startEngineCluster, type EngineCluster } from '../test/support/engine-cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { findListeners } from './gpu/find-listeners.ts'
import { ms } from './gpu/figures.ts'
import { offerStreams, type MeasuredLoad, type Side, type SideProcess } from './gpu/offer-streams.ts'
import { HELP, parseOptions, type GpuOptions } from './gpu/options.ts'
import { repeatPrompt } from './gpu/repeat-prompt.ts'
import { Table } from './gpu/table.ts'
import { hangUp, killWorker, overload, type Outcome, type Upset } from './gpu/upsets.ts'

const MODEL = 'bench'
const SETTLED_MS = 30_000

const UPSETS: readonly (readonly [title: string, stage: (upset: Upset) => Promise<Outcome>])[] = [
  ['clients hang up: the engine is empty after', hangUp],
  ['twice as many streams as slots', overload],
  ['kill -9 of a worker', killWorker],
]

const parsed = readOptions()
if (parsed === null) {
  process.exitCode = 2
} else if (parsed === 'help') {
  console.log(HELP)
} else {
  await setup()
  const { engine, family, folder } = parsed
  const cluster = await startEngineCluster({ engines: [engine], models: [{ id: MODEL, family, folder }] })
  try {
    process.exitCode = (await measure(parsed, cluster)) ? 0 : 1
  } finally {
    await cluster.stop()
    await teardown()
  }
}

function readOptions(): GpuOptions | 'help' | null {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(
      `${error instanceof Error ? error.message : String(error)}; see npm run bench:gpu -- --help`,
    )
    return null
  }
}

/** Returns true if every stream was complete and the books are correct. */
async function measure(options: GpuOptions, cluster: EngineCluster): Promise<boolean> {
  const { threads, words, tokens, engine } = options
  const account = await cluster.createAccount('1000000')
  const millrace: Side = {
    name: 'Millrace',
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
    model: MODEL,
    processes: [
      { name: 'gateway', pid: cluster.gateway.pid },
      ...cluster.workers.map(({ pid }) => ({ name: 'worker', pid })),
      { name: 'Redis', pid: cluster.redis.pid() },
      { name: 'billing', pid: cluster.billing.pid },
      ...listeners('PostgreSQL', new URL(cluster.databaseUrl).port, { withChildren: true }),
      ...listeners("the engine's gRPC server", engine.split(':').at(-1)),
    ],
  }
  const vllm: Side = {
    name: 'vLLM HTTP',
    baseUrl: options.http,
    apiKey: 'none',
    model: await readServedModel(options.http),
    processes: listeners('its HTTP server', new URL(options.http).port || '80'),
  }
  const slots = await readSlots(cluster)
  const table = new Table([millrace.name, vllm.name])
  const problems: string[] = []

  for (const side of [millrace, vllm]) {
    const warm = await offerStreams(side, { streams: slots, requests: 2 * slots, words, tokens: 32 }, threads)
    print(side, 'warm-up', warm)
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const side of round % 2 === 0 ? [millrace, vllm] : [vllm, millrace]) {
      for (const streams of options.streams) {
        const requests = Math.max(6, streams * options.requests)
        const load = await offerStreams(side, { streams, requests, words, tokens }, threads)
        print(side, `round ${round + 1}, ${streams} at once`, load)
        problems.push(...load.problems)
        addLoad(table, { side: side.name, streams, isMost: streams === Math.max(...options.streams) }, load)
      }
    }
  }
  table.add('slots learned from the engine', millrace.name, String(slots))
  for (const side of [millrace, vllm])
    table.add('a long prompt again: cached; first token, ms', side.name, await repeatPrompt(side, words))
  const upset = { side: millrace, engine, words, tokens, threads, slots, cluster }
  for (const [title, stage] of UPSETS) {
    const { text, problems: found } = await attempt(title, () => stage(upset))
    table.add(title, millrace.name, text)
    problems.push(...found)
  }
  const openHolds = await waitForHolds(async () => (await cluster.balance(account)).openHolds)
  const wrong = Object.entries(await cluster.reconcile()).filter(([, rows]) => rows > 0)
  table.add('open holds; contradictions in the books', millrace.name, `${openHolds}; ${wrong.length}`)

  console.log(`\n${table.toMarkdown()}`)
  for (const problem of new Set(problems)) console.error(`FAILED: ${problem}`)
  return problems.length === 0 && openHolds === 0 && wrong.length === 0
}

/** Runs one stage. If it fails, the figures of the other stages are still printed. */
async function attempt(title: string, stage: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await stage()
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { text: `failed: ${problem}`, problems: [`${title}: ${problem}`] }
  }
}

/**
 * Waits until no hold is open. Settlements are read in batches, so the last hold closes within seconds after the end of
 * its stream.
 */
async function waitForHolds(read: () => Promise<number>): Promise<number> {
  const endMs = performance.now() + SETTLED_MS
  for (;;) {
    const open = await read()
    if (open === 0 || performance.now() > endMs) return open
    await sleep(100)
  }
}

function addLoad(
  table: Table,
  { side, streams, isMost }: { side: string; streams: number; isMost: boolean },
  load: MeasuredLoad,
): void {
  const of = streams === 1 ? '1 stream' : `${streams} streams`
  table.add(`${of}, output tokens/s`, side, load.tokensPerS.toFixed(0))
  table.add(`${of}, first token p50, ms`, side, ms(load.firstMs, 0.5))
  table.add(`${of}, time per output token p50, ms`, side, ms(load.perTokenMs, 0.5))
  table.add(`${of}, gap p99, ms`, side, ms(load.gapsMs, 0.99))
  if (!isMost) return
  table.add(`${of}, tokens an event`, side, load.tokensPerEvent.toFixed(1))
  for (const [name, us] of load.cpuUs) table.add(`${of}, CPU µs per token: ${name}`, side, us.toFixed(0))
}

function print(side: Side, what: string, load: MeasuredLoad): void {
  console.log(
    `${side.name}, ${what}: ${load.tokensPerS.toFixed(0)} tokens/s, ` +
      `first token p50/p99 ${ms(load.firstMs, 0.5)}/${ms(load.firstMs, 0.99)} ms, ` +
      `gap p50/p99 ${ms(load.gapsMs, 0.5)}/${ms(load.gapsMs, 0.99)} ms, ` +
      `${load.streams.length} whole (${load.short} short), ${load.problems.length} failed`,
  )
}

function listeners(
  name: string,
  port: string | undefined,
  { withChildren = false } = {},
): readonly SideProcess[] {
  return findListeners(Number(port)).map((pid) => ({ name, pid, withChildren }))
}

async function readSlots(cluster: EngineCluster): Promise<number> {
  const [worker] = cluster.workers
  const text = await (await fetch(`${worker?.opsUrl}/metrics`)).text()
  return sumMetric(text, 'millrace_worker_slots', { model: MODEL })
}

async function readServedModel(baseUrl: string): Promise<string> {
  const response = await fetch(`${baseUrl}/models`)
  const list: { data: { id: string }[] } = JSON.parse(await response.text())
  const [model] = list.data
  if (model === undefined) throw new Error(`${baseUrl} serves no model`)
  return model.id
}
