import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { echoChannel, heartbeatChannel } from '#libs/event-bus/channels.ts'
import type { Heartbeat, ProcessKind } from '#libs/event-bus/heartbeat.ts'
import { createPresence, type Presence, type PresenceTimes } from '#libs/event-bus/presence.ts'
import { livenessKey } from '#libs/queue-redis/keys.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { toBeat } from '../../support/heartbeats.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const log = pino({ level: 'silent' })
/** Short, so that tests need not wait; a gateway has as much again. */
export const TTL_MS = 900
export type Member = {
  readonly id: string
  readonly presence: Presence
  readonly deaths: [string, ProcessKind][]
  readonly cutOffs: [string, ProcessKind][]
  readonly received: Heartbeat[]
  readonly subscriber: Redis
  /** Returns how many messages of any kind the process has received. */
  messages: () => number
  echoes: () => number
  /** Resolves after the process has received this many more echoes of its own messages. */
  beats: (count: number) => Promise<void>
  crash: () => void
}

/** Creates two Redis servers for a test, and functions that start processes on them. All are stopped after the test. */
export async function createCluster(onTestFinished: (stop: () => Promise<void>) => void) {
  const [queue, bus] = await Promise.all([createRedis(), createRedis()])
  const stops: (() => unknown)[] = []
  onTestFinished(async () => {
    for (const stop of stops.toReversed()) await stop()
    await Promise.all([queue.stop(), bus.stop()])
  })

  function connect(server: TestRedis, patience: 'fail-fast' | 'patient' = 'patient'): Redis {
    const redis = openRedis({ place: { mode: 'single', url: server.url }, name: 'test', patience, log })
    stops.push(() => redis.disconnect())
    return redis
  }

  async function connectFailFast(server: TestRedis): Promise<Redis> {
    const redis = connect(server, 'fail-fast')
    await until(async () => await Promise.resolve(redis.status === 'ready'))
    return redis
  }

  async function join(kind: ProcessKind, times: Partial<PresenceTimes> = {}): Promise<Member> {
    const id = randomUUID()
    const [publisher, store] = await Promise.all([connectFailFast(bus), connectFailFast(queue)])
    const subscriber = connect(bus)
    const deaths: Member['deaths'] = []
    const cutOffs: Member['cutOffs'] = []
    const received: Heartbeat[] = []
    let messages = 0
    let echoes = 0
    subscriber.on('message', (channel: string) => {
      messages += 1
      if (channel === echoChannel(id)) echoes += 1
    })
    const presence = await createPresence({
      ttlMs: TTL_MS,
      heartbeat: () => heartbeatOf(id, kind),
      bus: publisher,
      subscriber,
      queue: store,
      onHeartbeat: (heartbeat) => received.push(heartbeat),
      onDeath: (dead, of) => deaths.push([dead, of]),
      onCutOff: (peer, of) => cutOffs.push([peer, of]),
      nowMs: () => Date.now(),
      times: { gatewayExtraMs: TTL_MS, listenFirstMs: 0, ...times },
      log,
    })
    const crash = () => {
      for (const redis of [publisher, subscriber, store]) redis.disconnect()
    }
    stops.push(async () => {
      crash()
      await presence.stop()
    })
    const beats = async (count: number) => {
      const from = echoes
      await until(async () => await Promise.resolve(echoes >= from + count))
    }
    const counts = { messages: () => messages, echoes: () => echoes }
    return { id, presence, deaths, cutOffs, received, subscriber, ...counts, beats, crash }
  }

  /** Returns a process whose heartbeats and liveness key the test writes itself. */
  function byHand(kind: ProcessKind) {
    const id = randomUUID()
    const [hand, store] = [connect(bus), connect(queue)]
    return {
      id,
      beat: async () => await hand.publish(heartbeatChannel(kind), JSON.stringify(heartbeatOf(id, kind))),
      live: async (ttlMs = TTL_MS) => await store.set(livenessKey(kind, id), 1, 'PX', ttlMs),
      dropKey: async () => await store.del(livenessKey(kind, id)),
    }
  }
  return { queue, bus, connect, join, byHand }
}

/** More echoes than pass until a death of any kind is noticed. */
export const LONG = 8

export const heartbeatOf = (id: string, kind: ProcessKind): Heartbeat =>
  kind === 'worker' ? toBeat({ id }) : { kind, id, name: 'by hand' }
