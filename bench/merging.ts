// Measures how much CPU a late gateway saves because workers merge the events that they send to it: the gateway's CPU
// per token with and without merging, in interleaved rounds on one cluster.
//
//   npm run bench:merging [-- --streams 200 --rate 50 --seconds 8 --rounds 3]
//
// A gateway that is really late uses all of its processor, with and without merging, so the two kinds of rounds could
// not be compared. In a round with merging, this program therefore publishes heartbeats in the gateway's name which say
// that the gateway is late. A lost, duplicated or reordered token fails the run.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { heartbeatChannel } from '#libs/event-bus/channels.ts'
import { BEATS } from '#libs/event-bus/heartbeat.ts'
import { readSignal } from '#libs/event-bus/scaling-signals.ts'
import { startCluster } from '../test/support/cluster.ts'
import { setup, teardown } from '../test/support/global-setup.ts'
import { readThreadsCpuUs } from './harness/process-cpu.ts'
import { agent } from './harness/stream-chat.ts'
import { watchStreams } from './harness/watched-streams.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '200' },
    rate: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '3' },
  },
})
const [streams, rate, seconds] = [Number(values.streams), Number(values.rate), Number(values.seconds)]
const MODEL = 'demo-chat'
/**
 * The pause between forged heartbeats. Each second, a heartbeat of the gateway itself says that it is on time. A forged
 * heartbeat follows soon, so that nearly all the time the worker assumes that the gateway is late.
 */
const FORGE_MS = 50

await setup()
const cluster = await startCluster({
  workers: [[{ model: MODEL, files: 'demo', maxNumSeqs: streams, stepMs: 1_000 / rate, sequenceMs: 0 }]],
})
const [hand, listener] = [new Redis(cluster.redis.url), new Redis(cluster.redis.url)]
try {
  const { apiKey } = await cluster.createAccount('1000')
  const [gateway] = cluster.gateways
  const [worker] = cluster.workers
  if (gateway === undefined || worker === undefined) throw new Error('no gateway or no worker')
  const beat = await nextHeartbeat()
  await round(false, 2)
  const ratios: number[] = []
  for (let at = 0; at < Number(values.rounds); at += 1) {
    const plain = await round(false, seconds)
    const merged = await round(true, seconds)
    ratios.push(merged.gatewayUs / plain.gatewayUs)
    for (const [name, { gatewayUs, workerUs, frames, gapMs }] of Object.entries({ plain, merged })) {
      console.log(
        `${name.padEnd(7)} gateway ${gatewayUs.toFixed(1)}, worker ${workerUs.toFixed(1)} µs CPU per token, ${frames.toFixed(4)} frames per token, gap p99 ${gapMs.toFixed(0)} ms`,
      )
    }
  }
  ratios.sort((a, b) => a - b)
  console.log(
    `gateway CPU with merging ÷ without: ${ratios[Math.floor(ratios.length / 2)]?.toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
  )

  async function round(merging: boolean, measuredS: number) {
    const timer = setInterval(() => {
      if (merging) void hand.publish(heartbeatChannel('gateway'), beat)
    }, FORGE_MS)
    try {
      const tokens = Math.ceil((measuredS + 4) * rate)
      const watched = watchStreams({
        baseUrl: gateway?.baseUrl ?? '',
        apiKey,
        model: MODEL,
        count: streams,
        tokens,
      })
      await watched.flowing
      await sleep(1_000)
      const [before, fromMs] = [await snapshot(), performance.now()]
      await sleep(measuredS * 1_000)
      const [after, untilMs] = [await snapshot(), performance.now()]
      await watched.finished
      const made = after.tokens - before.tokens
      const gaps = watched.gapsMs(fromMs, untilMs)
      return {
        gatewayUs: (after.gatewayUs - before.gatewayUs) / made,
        workerUs: (after.workerUs - before.workerUs) / made,
        frames: (after.frames - before.frames) / made,
        gapMs: gaps[Math.floor(gaps.length * 0.99)] ?? Number.NaN,
      }
    } finally {
      clearInterval(timer)
    }
  }

  async function snapshot() {
    return {
      gatewayUs: readThreadsCpuUs(gateway?.pid ?? 0),
      workerUs: readThreadsCpuUs(worker?.pid ?? 0),
      frames: worker === undefined ? 0 : await cluster.metric(worker, 'millrace_worker_frames_total'),
      tokens: await cluster.metric(cluster.simulator, 'millrace_simulator_tokens_total'),
    }
  }
} finally {
  hand.disconnect()
  listener.disconnect()
  agent.destroy()
  await cluster.stop()
  await teardown()
}

/** Returns the gateway's own heartbeat, changed to say that the gateway is late. */
async function nextHeartbeat(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  listener.on('message', (_channel: string, text: string) => {
    const heartbeat = readSignal(BEATS.gateway.schema, text)
    if (heartbeat !== null) resolve(JSON.stringify({ ...heartbeat, late: true }))
  })
  await listener.subscribe(heartbeatChannel('gateway'))
  return await promise
}
