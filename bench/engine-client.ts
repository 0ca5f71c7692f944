// Measures the worker's CPU time for one message of an engine, over node's HTTP/2 and over grpc-js. The simulator and
// each client are separate processes; the client's CPU time is measured.
//
//   npm run bench:engine [-- --rounds 5 --seconds 4]
//
// The clients take turns within a round, in changing order, on the same engine at the same rate. So trust the ratio of
// their CPU times more than the times themselves; the ranges over the rounds show the noise of the machine. The first
// round is not counted, because cold code costs several times as much. The engine sends a message for each token as
// long as its client keeps up. The last column shows the messages a second; if there are far fewer than requested, the
// figures are worthless.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import type { EngineClient } from '../apps/worker/engine/engine-client.ts'
import { createEngineOverTransport } from '../apps/worker/engine/engine-over-transport.ts'
import { TRANSPORTS, type TransportName } from '../test/support/engine-transports.ts'
import { freePort } from '../test/support/free-port.ts'
import { startApp } from '../test/support/processes.ts'
import { makeRunFolder, removeRunFolder, RUN_FOLDER_VARIABLE } from '../test/support/run-folder.ts'
import { toSpread, type Spread } from './harness/spread.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    /** The argument with which this file starts itself as a client. */
    client: { type: 'string' },
  },
})

const NAMES = ['http2', 'grpc-js'] as const satisfies TransportName[]

const LOADS = [
  { streams: 100, ratePerS: 50 },
  { streams: 1_000, ratePerS: 20 },
] as const

const Order = z.object({ address: z.string(), streams: z.int(), seconds: z.number() })
type Order = z.infer<typeof Order>
const Result = z.object({ cpuUs: z.number(), messages: z.int() })
type Result = z.infer<typeof Result>

if (values.client === undefined) await measure(Number(values.rounds), Number(values.seconds))
else await obey(z.enum(NAMES).parse(values.client))

async function measure(rounds: number, seconds: number): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const folder = makeRunFolder()
  opened.defer(() => removeRunFolder(folder))
  process.env[RUN_FOLDER_VARIABLE] = folder
  const engines = await Promise.all(
    LOADS.map(async (load) => ({ ...load, address: `127.0.0.1:${await freePort()}` })),
  )
  const simulator = await startApp('simulator', {
    SIMULATOR_ENGINES: JSON.stringify(
      engines.map(({ address, streams, ratePerS }) => ({
        listen: address,
        model: `${streams} streams`,
        files: 'demo',
        maxNumSeqs: streams,
        maxModelLen: 65_536,
        kvBlocks: 131_072,
        stepMs: 1_000 / ratePerS,
        sequenceMs: 0,
        behaviour: { type: 'writes', tokens: 60_000 },
      })),
    ),
  })
  opened.defer(() => simulator.stop())
  const children = new Map(
    NAMES.map((name) => [name, opened.adopt(fork(import.meta.filename, ['--client', name]), end)] as const),
  )

  for (const { address, streams, ratePerS } of engines) {
    const results = new Map<TransportName, Result[]>(NAMES.map((name) => [name, []]))
    for (let round = 0; round <= rounds; round += 1) {
      for (const name of round % 2 === 0 ? NAMES : NAMES.toReversed()) {
        const result = await run(children.get(name), { address, streams, seconds })
        if (round > 0) results.get(name)?.push(result)
      }
    }
    print({ streams, ratePerS, seconds }, results)
  }
}

function print(
  load: { streams: number; ratePerS: number; seconds: number },
  results: ReadonlyMap<TransportName, readonly Result[]>,
): void {
  const { streams, ratePerS, seconds } = load
  console.log(`${streams} streams at ${ratePerS} messages a second each`)
  const medians = new Map<TransportName, number>()
  for (const [name, rounds] of results) {
    const us = toSpread(rounds.map(({ cpuUs, messages }) => cpuUs / messages))
    const perS = toSpread(rounds.map(({ messages }) => messages / seconds))
    medians.set(name, us.median)
    console.log(
      `  ${name.padEnd(8)} ${shown(us, 1)} µs CPU per message   ${shown(perS, 0)} messages per second`,
    )
  }
  const ratio = (medians.get('grpc-js') ?? Number.NaN) / (medians.get('http2') ?? Number.NaN)
  console.log(`  grpc-js costs ${ratio.toFixed(1)} times as much`)
}

function shown({ min, median, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} [${min.toFixed(digits)}..${max.toFixed(digits)}]`
}

async function run(child: ChildProcess | undefined, order: Order): Promise<Result> {
  if (child === undefined) throw new Error('there is no such client')
  const answered = new AbortController()
  const { signal } = answered
  child.send(order)
  try {
    const answer = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => null),
    ])
    if (answer === null) throw new Error('the client ended before it answered')
    return Result.parse(answer[0])
  } finally {
    answered.abort()
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.disconnect()
  await once(child, 'exit')
}

/**
 * Runs in a client's process. For each order that this process receives, it runs the load once and answers with the
 * result.
 */
async function obey(name: TransportName): Promise<void> {
  process.on('message', (message) => {
    const { address, ...load } = Order.parse(message)
    const client = createEngineOverTransport(TRANSPORTS[name]({ address }))
    void flow(client, load).then((result) => {
      client.close()
      process.send?.(result)
    })
  })
  await once(process, 'disconnect')
}

/** Measures for `seconds` while all streams flow, then leaves the streams. */
async function flow(
  client: EngineClient,
  { streams, seconds }: { streams: number; seconds: number },
): Promise<Result> {
  const leaving = new AbortController()
  let messages = 0
  let begun = 0
  const { promise: allFlow, resolve: flowing } = Promise.withResolvers<void>()
  const read = async (_: unknown, index: number) => {
    const request = {
      requestId: `bench-${index}`,
      promptIds: Uint32Array.of(1, 2, 3),
      sampling: { temperature: 0 },
      maxTokens: 60_000,
      endIds: [],
      stop: [],
      constraint: null,
      cacheSalt: null,
    }
    let first = true
    await client.generate(request, {
      signal: leaving.signal,
      onTokens({ ids }) {
        messages += ids.length
        if (first && ++begun === streams) flowing()
        first = false
        return true
      },
    })
  }
  const reading = Promise.all(Array.from({ length: streams }, read))
  await Promise.race([allFlow, reading])
  await pause(1)
  const before = { messages, cpu: process.cpuUsage() }
  await pause(seconds)
  const used = process.cpuUsage(before.cpu)
  const result = { cpuUs: used.user + used.system, messages: messages - before.messages }
  leaving.abort()
  await reading
  return result
}

async function pause(s: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, s * 1_000)
  await promise
}
