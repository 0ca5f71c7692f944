import type { Cluster, Redis } from 'ioredis'
import { FORM, livenessKey } from '#libs/queue-redis/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { echoChannel, heartbeatChannel } from './channels.ts'
import { BEAT_MS, readHeartbeat, type EngineState, type Heartbeat, type ProcessKind } from './heartbeat.ts'
import {
  isStalled,
  judgePeers,
  silenceMs,
  type Clocks,
  type JudgedPeer,
  type JudgeLimits,
} from './judge-peers.ts'
import { createRecentDeaths } from './recent-deaths.ts'

/*
 * Finds out which processes are alive. Each second this process sends a heartbeat on the bus, which the processes of
 * the other kind receive, and an echo to itself. It also writes a liveness key on the queue Redis, which expires after
 * this process's allowed silence. `judge-peers.ts` decides when a peer is dead. This file keeps the clocks for that
 * decision, so that a Redis that fails over, restarts or is full, or a stall of this process, does not look like the
 * death of all peers.
 *
 * LISTENING
 *   Heartbeats and echoes arrive, and the time of each is noted. The peers are judged four times a second.
 *   - An echo comes after more than two beats without one, so this process was cut off: the allowed silence of all
 *     peers begins again, and the queue Redis must again answer for as long as the whole allowed silence.
 *   - A check comes more than a beat late: STALLED.
 *   - No echo for 3 s: AWAY.
 *
 * STALLED
 *   The messages that arrived during the stall are still unread. In this check no peer can be found dead, and the bus
 *   does not count as away.
 *   - At once, in the same check: the allowed silence of all peers and the echo's clock begin again, LISTENING.
 *
 * AWAY
 *   The bus is away, or a connection is dead without having failed. `busAwayMs` returns for how long. Both connections
 *   to the bus are opened again every 3 s, unless they are being opened already.
 *   - An echo comes: LISTENING. The clocks begin again as above.
 */

export type Presence = {
  /** Judges `id` from now on, even if it was never heard. Each call needs one `unwatch`. */
  watch(id: string): void
  unwatch(id: string): void
  /**
   * Must be called when a message to `id` reached no subscriber. Reads the liveness key of `id` at once, although the
   * allowed silence has not ended. Does nothing if `id` was declared dead, or if its key is already known to be
   * missing.
   */
  suspect(id: string): void
  /** Sends a heartbeat at once, without waiting for the next second. */
  announce(): void
  /** Until the returned function is called, `peers` also lists the processes of this process's own kind. */
  receiveOwnKind(): () => void
  /** Returns for how long this process has not received its own echo; 0 while the last echo is less than 3 s old. */
  busAwayMs(): number
  /**
   * Returns the boot ids of gateways that were declared dead within the last 10 min and not heard again. Only the last
   * 512 deaths, of gateways and workers together, are remembered.
   */
  buried(): readonly string[]
  /**
   * Returns the last heartbeat of each process that was heard within the last `ttlMs`. A gateway receives the
   * heartbeats of workers, and a worker receives the heartbeats of gateways. While `receiveOwnKind` is in effect, the
   * result also has the processes of this process's own kind.
   */
  peers(): readonly Heartbeat[]
  /** Deletes the liveness key and stops, so that peers notice the end of this process sooner. */
  stop(): Promise<void>
}

const GATEWAY_EXTRA_MS = 7_000
const LISTEN_FIRST_MS = 5_000
const CUT_OFF_MS = 15_000
/**
 * How often peers are judged: often enough to notice a death at most half a second after the allowed silence has ended.
 */
const CHECK_MS = 250
/** A timer may fire a little early. The beat is sent nevertheless, not only at the next check. */
const BEAT_SLACK_MS = 50
/**
 * A stall of this process that lasts at most one beat is ignored. Checks are `CHECK_MS` apart, so with such a stall the
 * time between two checks is at most 1.25 s. A peer's last heartbeat may already be 1 s old at the first of the two
 * checks, so at the second the peer seems silent for at most 2.25 s. That is less than the 3 s after which a worker
 * counts as silent (`ttlMs` by default).
 */
const OWN_STALL_MS = 1_000
const BUS_AWAY_MS = 3_000

/** Overrides for tests, which cannot wait for the real times. */
export type PresenceTimes = {
  readonly gatewayExtraMs: number
  readonly listenFirstMs: number
  readonly cutOffMs: number
}

/** A process that was heard, is watched or was suspected. */
class Peer implements JudgedPeer {
  kind: ProcessKind
  heartbeat: Heartbeat | null = null
  watchers = 0
  seenMs: number
  missingSinceMs: number | null = null
  nextLookMs = 0
  isCutOff = false
  key: JudgedPeer['key'] = 'not-read'

  constructor(kind: ProcessKind, seenMs: number) {
    this.kind = kind
    this.seenMs = seenMs
  }

  get wasHeard() {
    return this.heartbeat !== null
  }

  get isWatched() {
    return this.watchers > 0
  }
}

/**
 * Writes the liveness key, even when Redis refuses other writes because its memory is full: a full Redis must not look
 * like a death. KEYS: the liveness key. ARGV: its TTL in ms.
 */
const WRITE_LIVENESS = `#!lua flags=allow-oom
return redis.call('SET', KEYS[1], 1, 'PX', ARGV[1])`

/**
 * Joins the bus and watches the peers. Resolves when this process is subscribed and has tried to write its liveness
 * key; a write that fails is logged and repeated with the next beat. `onDeath` and `onCutOff` are called once for each
 * silence of a peer.
 */
export async function createPresence(options: {
  self: { id: string; kind: ProcessKind; name: string }
  /** How long a worker may be silent, and how long its liveness key lasts. A gateway has 7 s more. */
  ttlMs: number
  engines: () => EngineState[]
  bus: Redis
  subscriber: Redis
  queue: Redis | Cluster
  onHeartbeat: (heartbeat: Heartbeat) => void
  onDeath: (id: string, kind: ProcessKind) => void
  onCutOff: (id: string, kind: ProcessKind) => void
  nowMs: () => number
  times?: Partial<PresenceTimes>
  log: Logger
}): Promise<Presence> {
  const { self, ttlMs, engines, bus, subscriber, queue, onHeartbeat, onDeath, onCutOff, nowMs, log } = options
  const {
    gatewayExtraMs = GATEWAY_EXTRA_MS,
    listenFirstMs = LISTEN_FIRST_MS,
    cutOffMs = CUT_OFF_MS,
  } = options.times ?? {}
  const beatMs = Math.min(BEAT_MS, ttlMs / 3)
  const stallMs = Math.min(OWN_STALL_MS, ttlMs / 3) + CHECK_MS
  const limits: JudgeLimits = {
    ownKind: self.kind,
    ttlMs,
    gatewayExtraMs,
    listenFirstMs,
    cutOffMs,
    stallMs,
  }
  const otherKind = self.kind === 'gateway' ? 'worker' : 'gateway'
  const theirBeats = heartbeatChannel(otherKind)
  const ownBeats = heartbeatChannel(self.kind)
  const ownEcho = echoChannel(self.id)
  const startedMs = nowMs()
  const peers = new Map<string, Peer>()
  const deaths = createRecentDeaths(nowMs)
  let listeningSinceMs = startedMs
  let checkedMs = startedMs
  let beatAtMs = startedMs
  let echoMs = startedMs
  let reconnectedMs = startedMs
  let storeAnswersSinceMs: number | null = null

  subscriber.on('message', (channel: string, text: string) => {
    if (channel === ownEcho) return noteEcho()
    if (channel !== theirBeats && channel !== ownBeats) return
    const heartbeat = readHeartbeat(text)
    if (heartbeat === null || heartbeat.id === self.id) return
    noteHeard(heartbeat)
    onHeartbeat(heartbeat)
  })
  await subscriber.subscribe(theirBeats, ownEcho)

  function noteEcho() {
    const now = nowMs()
    // This process was cut off from the bus, so its peers only seem to have been silent.
    if (now - echoMs > 2 * beatMs) restartClocks()
    echoMs = now
    judge()
  }

  function noteHeard(heartbeat: Heartbeat) {
    const { id, kind } = heartbeat
    deaths.revive(id)
    const peer = peers.get(id) ?? track(id, kind)
    peer.kind = kind
    peer.heartbeat = heartbeat
    peer.seenMs = nowMs()
    peer.missingSinceMs = null
    peer.nextLookMs = 0
    peer.isCutOff = false
  }

  function track(id: string, kind: ProcessKind): Peer {
    const peer = new Peer(kind, listeningSinceMs)
    peers.set(id, peer)
    return peer
  }

  function restartClocks() {
    listeningSinceMs = nowMs()
    storeAnswersSinceMs = null
    for (const peer of peers.values()) {
      peer.seenMs = listeningSinceMs
      peer.missingSinceMs = null
    }
  }

  function sendHeartbeat() {
    const heartbeat: Heartbeat = { ...self, form: FORM, engines: engines() }
    bus.publish(ownBeats, JSON.stringify(heartbeat)).catch((error: unknown) => {
      log.warn({ err: error }, 'heartbeat not sent')
    })
    sendEcho()
  }

  /**
   * Sends an echo. A failure is not logged here, because heartbeats then fail too, and their failures are logged. A
   * lost echo is noticed because it does not arrive.
   */
  function sendEcho() {
    bus.publish(ownEcho, '').catch(() => undefined)
  }

  async function writeLiveness() {
    try {
      await queue.eval(WRITE_LIVENESS, 1, livenessKey(self.kind, self.id), silenceMs(self.kind, limits))
      storeAnswersSinceMs ??= nowMs()
    } catch (error) {
      storeAnswersSinceMs = null
      log.warn({ err: error }, 'liveness key not written')
    }
  }

  function check() {
    const now = nowMs()
    if (isStalled(clocks(), limits)) {
      restartClocks()
      // The echoes of the stall are unread too.
      echoMs = now
    }
    checkedMs = now
    if (now - beatAtMs >= beatMs - BEAT_SLACK_MS) {
      beatAtMs = now
      sendHeartbeat()
      void writeLiveness()
    }
    if (now - Math.max(echoMs, reconnectedMs) >= BUS_AWAY_MS) {
      reconnectedMs = now
      reconnect(subscriber)
      reconnect(bus)
    }
    judge()
  }

  const clocks = (): Clocks => ({ nowMs: nowMs(), startedMs, checkedMs, echoMs, storeAnswersSinceMs })

  function judge(judged: Iterable<readonly [string, Peer]> = peers) {
    let needsEcho = false
    for (const { id, peer, verdict } of judgePeers(judged, clocks(), limits)) {
      if (verdict === 'echo') needsEcho = true
      else if (verdict === 'look') void look(id, peer)
      else if (verdict === 'forget') peers.delete(id)
      else if (verdict === 'cut-off') declareCutOff(id, peer)
      else declareDead(id, peer.kind)
    }
    // An echo shows whether the peers or the bus are silent, without waiting for the next beat.
    if (needsEcho && nowMs() - echoMs < BUS_AWAY_MS) sendEcho()
  }

  async function look(id: string, peer: Peer) {
    peer.nextLookMs = Infinity
    let leftMs: number
    try {
      leftMs = await queue.pttl(livenessKey(peer.kind, id))
    } catch {
      storeAnswersSinceMs = null
      peer.nextLookMs = nowMs() + CHECK_MS
      return
    }
    const now = nowMs()
    const isGone = leftMs === NO_SUCH_KEY
    peer.missingSinceMs = isGone ? (peer.missingSinceMs ?? now) : null
    peer.nextLookMs = now + (isGone ? CHECK_MS : Math.max(0, leftMs))
    // The peer was forgotten or declared dead while its key was read.
    if (peers.get(id) !== peer) return
    peer.key = isGone ? 'gone' : 'exists'
    judge([[id, peer]])
    peer.key = 'not-read'
  }

  function declareDead(id: string, kind: ProcessKind) {
    peers.delete(id)
    deaths.add(id, kind)
    log.warn({ peer: id, kind }, 'peer is dead')
    onDeath(id, kind)
  }

  function declareCutOff(id: string, peer: Peer) {
    peer.isCutOff = true
    log.warn({ peer: id, kind: peer.kind }, 'peer is cut off from the bus')
    onCutOff(id, peer.kind)
  }

  sendHeartbeat()
  await writeLiveness()
  const timer = setInterval(check, Math.min(CHECK_MS, beatMs))

  return {
    watch(id) {
      const peer = peers.get(id) ?? track(id, otherKind)
      peer.watchers += 1
    },
    unwatch(id) {
      const peer = peers.get(id)
      if (peer === undefined) return
      peer.watchers -= 1
      if (peer.watchers === 0 && peer.heartbeat === null) peers.delete(id)
    },
    suspect(id) {
      // The peer is already dead: a message to it reaches no subscriber, which proves nothing new.
      if (!peers.has(id) && deaths.has(id)) return
      const peer = peers.get(id) ?? track(id, otherKind)
      if (peer.missingSinceMs === null && peer.nextLookMs !== Infinity) void look(id, peer)
    },
    announce: sendHeartbeat,
    receiveOwnKind() {
      // The change of the subscription is not awaited, because it would wait while the bus is unreachable.
      const onError = (error: unknown) =>
        log.warn({ err: error, channel: ownBeats }, 'subscription not changed')
      subscriber.subscribe(ownBeats).catch(onError)
      return () => void subscriber.unsubscribe(ownBeats).catch(onError)
    },
    busAwayMs() {
      const now = nowMs()
      // After a stall the echoes that arrived during the stall are unread.
      return isStalled(clocks(), limits) || now - echoMs < BUS_AWAY_MS ? 0 : now - echoMs
    },
    buried: () => deaths.gateways(),
    peers() {
      const now = nowMs()
      const fresh: Heartbeat[] = []
      for (const { heartbeat, seenMs } of peers.values()) {
        if (heartbeat !== null && now - seenMs <= ttlMs) fresh.push(heartbeat)
      }
      return fresh
    },
    async stop() {
      clearInterval(timer)
      await queue.del(livenessKey(self.kind, self.id)).catch((error: unknown) => {
        log.warn({ err: error }, 'liveness key not deleted; it expires by itself')
      })
    },
  }
}

/** The answer of PTTL for a key that does not exist. */
const NO_SUCH_KEY = -2

/** Opens a connection again, unless it is being opened already. */
function reconnect(redis: Redis): void {
  if (['connecting', 'connect', 'ready'].includes(redis.status)) redis.disconnect(true)
}
