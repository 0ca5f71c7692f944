import type { Logger } from '#libs/telemetry/logger.ts'
import { createStartTimes } from './start-times.ts'
import type { EngineSign } from './watch-engine.ts'

/** Why an engine starts again: this worker asked for it for one of the first three, or its process has ended. */
export type RestartReason = 'dead' | 'silent' | 'not-up' | 'gone'

/** The starts and restarts of one engine, from the start of this process on. */
export type EngineLife = {
  /** What a look at the engine shows. */
  noteSign(sign: EngineSign): void
  /** The engine is ready, or no longer. */
  noteReady(ready: boolean): void
  /** Its restart was asked for and has not begun: until then it must not be used, however healthy it says it is. */
  awaitsRestart(): boolean
  /** Its last three restarts lie within ten minutes. */
  isSick(): boolean
  /** For how long it has not been ready; null while it is. */
  loadingMs(): number | null
  stop(): void
}

/** The request to restart an engine, for a supervisor that looks whether it exists. */
export type RestartRequest = {
  create(reason: string): Promise<void>
  remove(): Promise<void>
}

type AskedRestart = {
  readonly reason: RestartReason
  readonly atMs: number
  /** Something listened at the engine's address since. */
  wasListening: boolean
  /** The request was written. */
  exists: boolean
  /** Another engine than the one that was to be restarted answers. */
  isHealthy: boolean
}

const TICK_MS = 250
const RETRY_MS = 5_000
/**
 * An engine that never listened gives no sign that its restart has begun, so the request lasts for a little more than
 * the 5 s between two looks of the supervisor. A second restart by the same request costs an engine some seconds of its
 * start.
 */
const UNSEEN_REQUEST_MS = 7_000
const SICK_RESTARTS = 3
const SICK_WITHIN_MS = 600_000

/**
 * States of an engine: *starting* until it is ready for the first time; *ready*; *unready* when it is healthy no longer;
 * *restarting* while its restart is asked for; *starting* again as soon as connections are refused, because its process
 * has ended then.
 *
 * A restart is asked for when the engine is dead, when it is silent for `silenceMs` (it gives no token, or no answer
 * although it listens), or when a start takes longer than `startLimitMs` and three times the 95th percentile of the
 * starts that this process has seen. Without a `request` none is asked for. The request is removed once connections are
 * refused, and where a new engine answers before that was seen.
 */
export function createEngineLife(deps: {
  request: RestartRequest | null
  /** Whether the engine's address refuses connections. */
  isRefused: () => Promise<boolean>
  /** A worker that drains asks for nothing. */
  isDraining: () => boolean
  startLimitMs: number
  silenceMs: number
  onRestart: (reason: RestartReason) => void
  /** After a start of this length, in ms. */
  onStarted: (ms: number) => void
  nowMs: () => number
  log: Logger
}): EngineLife {
  const { request, isRefused, isDraining, startLimitMs, silenceMs, onRestart, onStarted, nowMs, log } = deps
  const starts = createStartTimes()
  const restarts: number[] = []
  /** Null while the engine is ready. */
  let unreadySinceMs: number | null = nowMs()
  /** Null unless it is starting. */
  let startingSinceMs: number | null = unreadySinceMs
  let unansweredSinceMs: number | null = null
  let asked: AskedRestart | null = null
  let ticking = false
  let retryAtMs = 0

  function countRestart(reason: RestartReason) {
    restarts.push(nowMs())
    if (restarts.length > SICK_RESTARTS) restarts.shift()
    log.warn(
      { reason, sick: isSick() },
      reason === 'gone' ? 'the engine has ended' : 'engine restart asked for',
    )
    onRestart(reason)
  }

  function ask(reason: RestartReason) {
    if (request === null || asked !== null || isDraining()) return
    asked = { reason, atMs: nowMs(), wasListening: reason !== 'not-up', exists: false, isHealthy: false }
    countRestart(reason)
  }

  /** Its process has ended: what listens next is a new one. */
  function noteGone() {
    unansweredSinceMs = null
    startingSinceMs = nowMs()
  }

  async function followRequest(open: AskedRestart, file: RestartRequest) {
    if (!open.exists) {
      await file.create(open.reason)
      open.exists = true
    }
    const refused = await isRefused()
    if (!refused) open.wasListening = true
    const hasEnded = refused && (open.wasListening || nowMs() - open.atMs >= UNSEEN_REQUEST_MS)
    if (!hasEnded && !open.isHealthy) return
    await file.remove()
    asked = null
    if (hasEnded) noteGone()
  }

  async function look() {
    const now = nowMs()
    if (asked !== null && request !== null) {
      await followRequest(asked, request)
    } else if (unansweredSinceMs !== null && startingSinceMs === null) {
      if (await isRefused()) {
        noteGone()
        countRestart('gone')
      } else if (now - unansweredSinceMs >= silenceMs) ask('silent')
    } else if (startingSinceMs !== null && now - startingSinceMs > starts.limitMs(startLimitMs)) {
      ask('not-up')
    }
  }

  async function tick() {
    if (ticking || nowMs() < retryAtMs) return
    ticking = true
    try {
      await look()
    } catch (error) {
      retryAtMs = nowMs() + RETRY_MS
      log.error({ err: error }, 'the request to restart the engine was not written or removed')
    } finally {
      ticking = false
    }
  }

  function isSick(): boolean {
    const first = restarts.at(-SICK_RESTARTS)
    return restarts.length >= SICK_RESTARTS && first !== undefined && nowMs() - first < SICK_WITHIN_MS
  }

  const timer = setInterval(() => void tick(), TICK_MS)

  return {
    noteSign(sign) {
      if (sign !== 'unanswered') unansweredSinceMs = null
      else unansweredSinceMs ??= nowMs()
      if (sign === 'dead' || sign === 'silent') ask(sign)
      // A silent engine is healthy all the time; a dead one never becomes so, and one that did not start is there.
      if (sign === 'healthy' && asked !== null && asked.reason !== 'silent') asked.isHealthy = true
    },
    noteReady(ready) {
      if (!ready) {
        unreadySinceMs ??= nowMs()
        return
      }
      if (startingSinceMs !== null) {
        const ms = nowMs() - startingSinceMs
        starts.add(ms)
        onStarted(ms)
      }
      unreadySinceMs = null
      startingSinceMs = null
    },
    awaitsRestart: () => asked !== null,
    isSick,
    loadingMs: () => (unreadySinceMs === null ? null : nowMs() - unreadySinceMs),
    stop: () => clearInterval(timer),
  }
}
