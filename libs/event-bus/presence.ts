import type { Redis } from 'ioredis'
import { z } from 'zod'
import { livenessKey } from '#libs/generation-record/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { HEARTBEAT_CHANNEL } from './channels.ts'

/** The part of a worker's heartbeat that describes one engine. */
export const EngineState = z.strictObject({
  model: z.string(),
  /** Pulls tickets: its engine is healthy and it is not stopping. */
  ready: z.boolean(),
  slots: z.int(),
  running: z.int(),
  /** Mean time from claim to end of the last generations; null before the first one ended. */
  meanGenerationMs: z.number().nullable(),
})
export type EngineState = z.infer<typeof EngineState>

const Heartbeat = z.strictObject({
  id: z.string(),
  kind: z.enum(['gateway', 'worker']),
  engines: z.array(EngineState),
})
export type Heartbeat = z.infer<typeof Heartbeat>

export type Presence = {
  /** From now on `onDeath` is called when `id` dies. Each call needs one `unwatch`. */
  watch(id: string): void
  unwatch(id: string): void
  /** Checks the liveness key of `id` at once: a message to it reached no subscriber. */
  suspect(id: string): void
  /** Sends a heartbeat at once, without waiting for the next second. */
  announce(): void
  /** Deletes the liveness key and stops, so that peers notice the end of this process sooner. */
  stop(): Promise<void>
}

/** Between two heartbeats of a process. */
export const BEAT_MS = 1_000
const LIVENESS_TTL_MS = 3_000
const SILENT_MS = 3_000
/** Alive by its key, but without heartbeats for so long: cut off from the bus. */
const CUT_OFF_MS = 15_000
const SUSPICION_MS = 2_000
/**
 * A tick that comes later than this after the one before shows that this process stalled: heartbeats that arrived
 * meanwhile are still unread. The bound is half a beat, because a stall of two seconds and a heartbeat that was already
 * a second old together look like three seconds of silence.
 */
const OWN_STALL_MS = 1_500
/**
 * Without an echo for so long the subscription's connection is taken for dead: it sends nothing, so it would never
 * fail by itself.
 */
const RESUBSCRIBE_MS = 5_000
/** An echo later than this after the one before shows that this process was cut off from the bus. */
const ECHO_GAP_MS = 2_000

type Peer = { watchers: number; seenMs: number; missingSinceMs: number | null }

/**
 * Which processes are alive. Each second this process sends a heartbeat on the bus and writes a key that expires after
 * 3 s on the queue Redis. A watched peer is dead when there was no heartbeat for 3 s *and* its key is gone, while the
 * queue Redis answered throughout and this process received its own heartbeats over the same bus. So neither the
 * failover of a Redis nor a stall of this process looks like the death of all peers. A peer whose key exists but that
 * sent no heartbeat for 15 s is cut off, and treated as dead too.
 */
export async function createPresence(options: {
  self: { id: string; kind: Heartbeat['kind'] }
  engines: () => EngineState[]
  bus: Redis
  subscriber: Redis
  queue: Redis
  onHeartbeat: (heartbeat: Heartbeat) => void
  onDeath: (id: string) => void
  nowMs: () => number
  log: Logger
}): Promise<Presence> {
  const { self, engines, bus, subscriber, queue, onHeartbeat, onDeath, nowMs, log } = options
  const peers = new Map<string, Peer>()
  let tickMs = nowMs()
  let echoMs = nowMs()
  let resubscribedMs = 0
  let storeAnswersSinceMs: number | null = null

  subscriber.on('message', (channel: string, text: string) => {
    if (channel !== HEARTBEAT_CHANNEL) return
    const heartbeat = readHeartbeat(text)
    if (heartbeat === null) {
      log.error({ text: text.slice(0, 200) }, 'unreadable heartbeat')
      return
    }
    if (heartbeat.id === self.id) {
      if (nowMs() - echoMs > ECHO_GAP_MS) restartClocks()
      echoMs = nowMs()
    }
    const peer = peers.get(heartbeat.id)
    if (peer !== undefined) peer.seenMs = nowMs()
    onHeartbeat(heartbeat)
  })
  await subscriber.subscribe(HEARTBEAT_CHANNEL)

  function restartClocks() {
    storeAnswersSinceMs = null
    for (const peer of peers.values()) restartClock(peer, nowMs())
  }

  function beat() {
    const heartbeat: Heartbeat = { ...self, engines: engines() }
    bus.publish(HEARTBEAT_CHANNEL, JSON.stringify(heartbeat)).catch((error: unknown) => {
      log.warn({ err: error }, 'heartbeat not sent')
    })
    queue.set(livenessKey(self.id), 1, 'PX', LIVENESS_TTL_MS).then(
      () => (storeAnswersSinceMs ??= nowMs()),
      (error: unknown) => {
        storeAnswersSinceMs = null
        log.warn({ err: error }, 'liveness key not written')
      },
    )
  }

  function tick() {
    const now = nowMs()
    if (now - tickMs > OWN_STALL_MS) restartClocks()
    tickMs = now
    if (now - Math.max(echoMs, resubscribedMs) > RESUBSCRIBE_MS) {
      resubscribedMs = now
      subscriber.disconnect(true)
    }
    beat()
    for (const [id, peer] of peers) {
      if (now - peer.seenMs > SILENT_MS || peer.missingSinceMs !== null) void checkKey(id, peer)
    }
  }

  async function checkKey(id: string, peer: Peer) {
    let alive: boolean
    try {
      alive = (await queue.exists(livenessKey(id))) === 1
    } catch {
      restartClock(peer, nowMs())
      return
    }
    const now = nowMs()
    if (alive) {
      peer.missingSinceMs = null
      if (busEchoes(now) && now - peer.seenMs > CUT_OFF_MS) declareDead(id, 'cut off from the bus')
      return
    }
    peer.missingSinceMs ??= now
    const silent = now - peer.seenMs > SILENT_MS && busEchoes(now) && storeAnsweredFor(now, SILENT_MS)
    if (silent || now - peer.missingSinceMs >= SUSPICION_MS) declareDead(id, 'dead')
  }

  function declareDead(id: string, how: string) {
    if (!peers.delete(id)) return
    log.warn({ peer: id }, `peer is ${how}`)
    onDeath(id)
  }

  const busEchoes = (now: number) => now - echoMs <= ECHO_GAP_MS
  const storeAnsweredFor = (now: number, ms: number) =>
    storeAnswersSinceMs !== null && now - storeAnswersSinceMs >= ms

  beat()
  const timer = setInterval(tick, BEAT_MS)

  return {
    watch(id) {
      const peer = peers.get(id)
      if (peer === undefined) peers.set(id, { watchers: 1, seenMs: nowMs(), missingSinceMs: null })
      else peer.watchers += 1
    },
    unwatch(id) {
      const peer = peers.get(id)
      if (peer === undefined) return
      peer.watchers -= 1
      if (peer.watchers === 0) peers.delete(id)
    },
    suspect(id) {
      const peer = peers.get(id)
      if (peer !== undefined && peer.missingSinceMs === null) void checkKey(id, peer)
    },
    announce: beat,
    async stop() {
      clearInterval(timer)
      await queue.del(livenessKey(self.id)).catch((error: unknown) => {
        log.warn({ err: error }, 'liveness key not deleted; it expires by itself')
      })
    },
  }
}

function restartClock(peer: Peer, now: number) {
  peer.seenMs = now
  peer.missingSinceMs = null
}

function readHeartbeat(text: string): Heartbeat | null {
  try {
    return Heartbeat.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
