import { connect, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { createRunningGenerations } from '#apps/worker/run/running-generations.ts'
import { echoChannel, heartbeatChannel } from '#libs/event-bus/channels.ts'
import type { StreamState } from '#libs/event-bus/frame.ts'
import { generationJob } from '../../test/support/generation-job.ts'
import { createRedis } from '../../test/support/redis.ts'
import { readThreadsCpuUs } from '../harness/process-cpu.ts'

const SIZES = [10, 100, 500]
/** The share of gateways among the processes, as in a cell with 36 gateways and 500 workers. */
const GATEWAY_SHARE = 0.07
/** The least number of beats in one measurement. It is large, so that other work of the server matters little. */
const BEATS = 2_000
const PINGS = 10_000
const STREAMS_OF_A_GATEWAY = 20
const BEAT = JSON.stringify({ id: 'a'.repeat(36), form: 2, kind: 'worker', name: 'worker-1', engines: [] })

type Process = { readonly id: string; readonly kind: 'gateway' | 'worker' }

/**
 * Prints the cost of the heartbeats and pulses of 10, 100 and 500 processes. Call `setup` of test/support first.
 * - For heartbeats it prints how many messages each process receives, and the CPU time of Redis, when each process
 *   sends one heartbeat. This is measured twice: with one channel per kind of process, and with one channel for all
 *   processes.
 * - For pulses it prints how many pulses one worker publishes, and how many streams they list.
 */
export async function benchBus(print: (line: string) => void): Promise<void> {
  const server = await createRedis()
  const redis = new Redis(server.url)
  try {
    const before = readThreadsCpuUs(server.pid())
    for (let ping = 0; ping < PINGS; ping += 1) await redis.ping()
    const pingUs = (readThreadsCpuUs(server.pid()) - before) / PINGS
    print(`heartbeats, one of each process; CPU of Redis, a PING is ${pingUs.toFixed(1)} µs of it`)
    for (const size of SIZES) {
      const processes = toProcesses(size)
      for (const [name, channels] of Object.entries(LAYOUTS)) {
        const { deliveries, cpuUs } = await beatAll(server, redis, { processes, channels })
        const each = `${(deliveries / size).toFixed(0)} received by each process`
        const cost = `${(cpuUs / 1_000).toFixed(2)} ms of Redis, ${(cpuUs / size / pingUs).toFixed(1)} PINGs a beat`
        print(`  ${String(size).padStart(3)} processes, ${name.padEnd(16)} ${each}, ${cost}`)
      }
    }
  } finally {
    redis.disconnect()
    await server.stop()
  }
  print(`pulses of one worker a second, ${STREAMS_OF_A_GATEWAY} streams of each gateway`)
  for (const size of SIZES) {
    const gateways = toProcesses(size).filter(({ kind }) => kind === 'gateway').length
    const [flowing, quiet] = [countPulses(gateways, true), countPulses(gateways, false)]
    print(
      `  ${String(gateways).padStart(3)} gateways           all streams flow: ${describe(flowing)}; none does: ${describe(quiet)}`,
    )
  }
}

/** The channels to which a process publishes its beat, and the channels to which it subscribes. */
const LAYOUTS: Readonly<Record<string, (own: Process) => { publish: string[]; subscribe: string[] }>> = {
  'by kind': ({ id, kind }) => ({
    publish: [heartbeatChannel(kind), echoChannel(id)],
    subscribe: [heartbeatChannel(kind === 'gateway' ? 'worker' : 'gateway'), echoChannel(id)],
  }),
  'one for all': () => ({ publish: ['bench:heartbeats'], subscribe: ['bench:heartbeats'] }),
}

function toProcesses(size: number): Process[] {
  const gateways = Math.max(1, Math.round(size * GATEWAY_SHARE))
  return Array.from({ length: size }, (_, at) => ({
    id: `process-${at}`,
    kind: at < gateways ? 'gateway' : 'worker',
  }))
}

/**
 * Publishes several heartbeats in the name of every process. Resolves with the number of messages that the Redis server
 * delivers, and its CPU time, for one heartbeat of every process.
 */
async function beatAll(
  server: { url: string; pid(): number },
  redis: Redis,
  { processes, channels }: { processes: readonly Process[]; channels: (typeof LAYOUTS)[string] },
): Promise<{ deliveries: number; cpuUs: number }> {
  const sockets = await Promise.all(
    processes.map(async (own) => await subscribe(server.url, channels(own).subscribe)),
  )
  try {
    const rounds = Math.max(2, Math.ceil(BEATS / processes.length))
    let deliveries = 0
    const before = readThreadsCpuUs(server.pid())
    for (let round = 0; round < rounds; round += 1) {
      for (const own of processes) {
        for (const channel of channels(own).publish) deliveries += await redis.publish(channel, BEAT)
      }
    }
    return { deliveries: deliveries / rounds, cpuUs: (readThreadsCpuUs(server.pid()) - before) / rounds }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

/**
 * Opens a connection that subscribes to the channels. It discards what it receives, so that the subscribers take little
 * processor time from the server, which runs on the same machine.
 */
async function subscribe(url: string, channels: readonly string[]): Promise<Socket> {
  const { hostname, port, password } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ host: hostname, port: Number(port) }, () => {
    socket.write(`AUTH ${password}\r\nSUBSCRIBE ${channels.join(' ')}\r\n`)
  })
  let received = ''
  const onData = (bytes: Buffer) => {
    received += String(bytes)
    if (received.startsWith('-')) reject(new Error(received.trimEnd()))
    // Redis sends one confirmation for each channel.
    else if (received.split('subscribe').length > channels.length) resolve()
  }
  socket.on('data', onData)
  socket.once('error', reject)
  await promise
  socket.off('data', onData)
  socket.resume()
  return socket
}

/**
 * Calls a worker's `pulse` twice, and returns how many pulses the second call publishes and how many streams they list.
 * If `flowing` is true, every stream sends an event between the two calls; otherwise none does.
 */
function countPulses(gateways: number, flowing: boolean): { pulses: number; streams: number } {
  const pulses: (readonly StreamState[])[] = []
  const running = createRunningGenerations({
    publisher: { send: () => {}, pulse: (_gateway, streams) => pulses.push(streams), forget: () => {} },
    isClaiming: () => false,
    isBuried: () => false,
    settleOrphan: () => {},
    watchGateway: () => {},
    unwatchGateway: () => {},
    nowMs: () => performance.now(),
  })
  const runs = Array.from({ length: gateways * STREAMS_OF_A_GATEWAY }, (_, stream) => {
    const job = generationJob({ gateway: `gateway-${stream % gateways}`, stream })
    const claim = {
      status: 'claimed',
      epoch: 1,
      ids: new Uint32Array(0),
      promptTokens: null,
      engineDeaths: 0,
      waiting: 0,
      waitedMs: 0,
    } as const
    return running.open({ ...claim, id: job.id, job, remainingMs: 60_000 }, () => {})
  })
  running.pulse()
  pulses.length = 0
  if (flowing) for (const run of runs) run.send([{ type: 'text-delta', text: 'a' }])
  running.pulse()
  for (const run of runs) run.close()
  return { pulses: pulses.length, streams: pulses.flat().length }
}

const describe = ({ pulses, streams }: { pulses: number; streams: number }) =>
  `${pulses} pulses with ${streams} streams`
