import type { Cluster, Redis } from 'ioredis'
import { FORM, livenessKey } from '#libs/generation-record/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { echoChannel, heartbeatChannel } from './channels.ts'
import { BEAT_MS, readHeartbeat, type EngineState, type Heartbeat, type ProcessKind } from './heartbeat.ts'

export type Presence = {
  /** From now on `id` is judged even if it was never heard. Each call needs one `unwatch`. */
  watch(id: string): void
  unwatch(id: string): void
  /** A message to `id` reached no subscriber: looks for its liveness key at once, and again after 2 s. */
  suspect(id: string): void
  /** Sends a heartbeat at once, without waiting for the next second. */
  announce(): void
  /** Until the returned function is called, `peers` lists also the processes of this one's own kind. */
  receiveOwnKind(): () => void
  /** For how long this process has not received its own echo; 0 while the last one is less than 3 s old. */
  busAwayMs(): number
  /** Boot ids of the gateways among the last 512 deaths of the last 10 min; without those that were heard again. */
  buried(): readonly string[]
  /** The last heartbeat of each process of the other kind that is not silent. */
  peers(): readonly Heartbeat[]
  /** Deletes the liveness key and stops, so that peers notice the end of this process sooner. */
  stop(): Promise<void>
}

/** How much longer than a worker a gateway may be silent: its death ends what it runs, a worker's continues elsewhere. */
const GATEWAY_EXTRA_MS = 7_000
/** No process is judged before this one has listened for so long. */
const LISTEN_FIRST_MS = 5_000
/** Alive by its key, but without heartbeats for so long: cut off from the bus. */
const CUT_OFF_MS = 15_000
/** A process that was never heard must miss its key twice: it may be about to write it. */
const SECOND_LOOK_MS = 2_000
/** Often enough that a death is seen within half a second after the silence that shows it. */
const CHECK_MS = 250
/** A timer may be early by a little; the beat must not wait for the next check then. */
const BEAT_SLACK_MS = 50
/**
 * A check that comes later than this after the one before shows that this process stalled: heartbeats that arrived
 * meanwhile are still unread. The bound is a beat, because a stall and a heartbeat that was already a second old must
 * not look like three seconds of silence together.
 */
const OWN_STALL_MS = 1_000
/** Without an echo for so long the bus is away, or a connection that never fails by itself is dead. */
const BUS_AWAY_MS = 3_000
const DEAD_MS = 600_000
const MOST_DEAD = 512

/** Overrides for tests, which cannot wait for as long. */
export type PresenceTimes = {
  readonly gatewayExtraMs: number
  readonly listenFirstMs: number
  readonly cutOffMs: number
}

type Peer = {
  kind: ProcessKind
  /** Null before it was heard. */
  heartbeat: Heartbeat | null
  /** When it was heard last; before that, since when this process listens. */
  seenMs: number
  watchers: number
  /** The first of the looks that found no key. */
  missingSinceMs: number | null
  nextLookMs: number
  /** It was reported as cut off, and not heard since. */
  cutOff: boolean
}

/**
 * Written also when Redis refuses other writes because its memory is full: a full Redis is no death.
 * KEYS: the liveness key. ARGV: its TTL in ms.
 */
const WRITE_LIVENESS = `#!lua flags=allow-oom
return redis.call('SET', KEYS[1], 1, 'PX', ARGV[1])`

/**
 * Which processes are alive. Each second this process sends a heartbeat on the bus, where the processes of the other kind
 * receive it, an echo to itself, and writes a key that expires after `ttlMs` on the queue Redis. A process of the other
 * kind, or a watched one, is dead when there was no heartbeat for `ttlMs` *and* its key is gone, while the queue Redis
 * answered throughout and an echo has come back over the same bus since; gateways have 7 s more. So neither a Redis that
 * fails over, restarts or is full nor a stall of this process looks like the death of all peers. A peer whose key exists
 * but that sent no heartbeat for 15 s is cut off.
 *
 * A death may be judged wrongly (a process that was frozen); it is heard again then, and no longer buried.
 */
export async function createPresence(options: {
  self: { id: string; kind: ProcessKind; name: string }
  /** How long a worker may be silent, and its liveness key lasts; a gateway has 7 s more. */
  ttlMs: number
  engines: () => EngineState[]
  /** Whether this gateway's event loop is late. */
  isLate?: () => boolean
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
  const {
    self,
    ttlMs,
    engines,
    isLate = () => false,
    bus,
    subscriber,
    queue,
    onHeartbeat,
    onDeath,
    onCutOff,
    nowMs,
    log,
  } = options
  const {
    gatewayExtraMs = GATEWAY_EXTRA_MS,
    listenFirstMs = LISTEN_FIRST_MS,
    cutOffMs = CUT_OFF_MS,
  } = options.times ?? {}
  const beatMs = Math.min(BEAT_MS, ttlMs / 3)
  const ownStallMs = Math.min(OWN_STALL_MS, ttlMs / 3)
  const silenceOf = (kind: ProcessKind) => (kind === 'gateway' ? ttlMs + gatewayExtraMs : ttlMs)
  const otherKind = self.kind === 'gateway' ? 'worker' : 'gateway'
  const theirBeats = heartbeatChannel(otherKind)
  const ownBeats = heartbeatChannel(self.kind)
  const ownEcho = echoChannel(self.id)
  const startedMs = nowMs()
  const peers = new Map<string, Peer>()
  /** By death, with its kind: gateways among them are buried. */
  const dead = new Map<string, { kind: ProcessKind; diedMs: number }>()
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
    dead.delete(id)
    const peer = peers.get(id) ?? track(id, kind)
    peer.kind = kind
    peer.heartbeat = heartbeat
    peer.seenMs = nowMs()
    peer.missingSinceMs = null
    peer.nextLookMs = 0
    peer.cutOff = false
  }

  function track(id: string, kind: ProcessKind): Peer {
    const peer: Peer = {
      kind,
      heartbeat: null,
      seenMs: listeningSinceMs,
      watchers: 0,
      missingSinceMs: null,
      nextLookMs: 0,
      cutOff: false,
    }
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
    const heartbeat: Heartbeat = { ...self, late: isLate(), form: FORM, engines: engines() }
    bus.publish(ownBeats, JSON.stringify(heartbeat)).catch((error: unknown) => {
      log.warn({ err: error }, 'heartbeat not sent')
    })
    sendEcho()
  }

  /** What fails here is logged with the heartbeat, or noticed by the echo that is missing. */
  function sendEcho() {
    bus.publish(ownEcho, '').catch(() => undefined)
  }

  async function writeLiveness() {
    try {
      await queue.eval(WRITE_LIVENESS, 1, livenessKey(self.id), silenceOf(self.kind))
      storeAnswersSinceMs ??= nowMs()
    } catch (error) {
      storeAnswersSinceMs = null
      log.warn({ err: error }, 'liveness key not written')
    }
  }

  function check() {
    const now = nowMs()
    if (stalled(now)) {
      restartClocks()
      // The echoes of that time are unread too.
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

  function judge() {
    const now = nowMs()
    if (!mayJudge(now)) return
    let needsEcho = false
    for (const [id, peer] of peers) {
      const silentSinceMs = peer.seenMs + silenceOf(peer.kind)
      if (now <= silentSinceMs) continue
      if (peer.kind !== otherKind && peer.watchers === 0) {
        if (now - peer.seenMs > cutOffMs) peers.delete(id)
      } else if (echoMs <= silentSinceMs) needsEcho = true
      else if (now >= peer.nextLookMs) void look(id, peer)
    }
    // Shows whether the silence is theirs or the bus's, without waiting for the next beat.
    if (needsEcho && now - echoMs < BUS_AWAY_MS) sendEcho()
  }

  async function look(id: string, peer: Peer) {
    peer.nextLookMs = Infinity
    let leftMs: number
    try {
      leftMs = await queue.pttl(livenessKey(id))
    } catch {
      storeAnswersSinceMs = null
      peer.nextLookMs = nowMs() + CHECK_MS
      return
    }
    const now = nowMs()
    const silent = mayJudge(now) && echoMs > peer.seenMs + silenceOf(peer.kind)
    if (leftMs !== NO_SUCH_KEY) {
      peer.missingSinceMs = null
      peer.nextLookMs = now + Math.max(0, leftMs)
      if (peer.heartbeat === null && peer.watchers === 0) peers.delete(id)
      else if (silent && now - peer.seenMs > cutOffMs) declareCutOff(id, peer)
      return
    }
    peer.missingSinceMs ??= now
    peer.nextLookMs = now + CHECK_MS
    const looked = peer.heartbeat !== null || now - peer.missingSinceMs >= SECOND_LOOK_MS
    if (silent && looked && storeAnsweredFor(now, silenceOf(peer.kind)) && peers.get(id) === peer) {
      declareDead(id, peer.kind)
    }
  }

  function declareDead(id: string, kind: ProcessKind) {
    peers.delete(id)
    dead.set(id, { kind, diedMs: nowMs() })
    for (const oldest of dead.keys()) {
      if (dead.size <= MOST_DEAD) break
      dead.delete(oldest)
    }
    log.warn({ peer: id, kind }, 'peer is dead')
    onDeath(id, kind)
  }

  function declareCutOff(id: string, peer: Peer) {
    if (peer.cutOff) return
    peer.cutOff = true
    log.warn({ peer: id, kind: peer.kind }, 'peer is cut off from the bus')
    onCutOff(id, peer.kind)
  }

  const stalled = (now: number) => now - checkedMs > ownStallMs + CHECK_MS
  const mayJudge = (now: number) => now - startedMs >= listenFirstMs && !stalled(now)
  const storeAnsweredFor = (now: number, ms: number) =>
    storeAnswersSinceMs !== null && now - storeAnswersSinceMs >= ms

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
      // What is sent to the dead reaches no subscriber; that is known.
      if (!peers.has(id) && dead.has(id)) return
      const peer = peers.get(id) ?? track(id, otherKind)
      if (peer.missingSinceMs === null && peer.nextLookMs !== Infinity) void look(id, peer)
    },
    announce: sendHeartbeat,
    receiveOwnKind() {
      // Not awaited: while the bus is away, the subscription waits for its return.
      const onError = (error: unknown) =>
        log.warn({ err: error, channel: ownBeats }, 'subscription not changed')
      subscriber.subscribe(ownBeats).catch(onError)
      return () => void subscriber.unsubscribe(ownBeats).catch(onError)
    },
    busAwayMs() {
      const now = nowMs()
      // After a stall the echoes of that time are unread.
      return stalled(now) || now - echoMs < BUS_AWAY_MS ? 0 : now - echoMs
    },
    buried() {
      const now = nowMs()
      for (const [id, { diedMs }] of dead) {
        if (now - diedMs < DEAD_MS) break
        dead.delete(id)
      }
      return [...dead].flatMap(([id, { kind }]) => (kind === 'gateway' ? [id] : []))
    },
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
      await queue.del(livenessKey(self.id)).catch((error: unknown) => {
        log.warn({ err: error }, 'liveness key not deleted; it expires by itself')
      })
    },
  }
}

/** The answer of PTTL. */
const NO_SUCH_KEY = -2

/** A connection that is already being opened again is left alone. */
function reconnect(redis: Redis): void {
  if (['connecting', 'connect', 'ready'].includes(redis.status)) redis.disconnect(true)
}
