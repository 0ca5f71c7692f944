import type { Logger } from '#libs/telemetry/logger.ts'
import { createStartTimes } from './start-times.ts'
import type { EngineSign } from './watch-engine.ts'

/**
 * The reason why an engine starts again. `gone`: its process ended by itself. In the other cases this worker requested
 * the restart.
 */
export type RestartReason = 'dead' | 'silent' | 'not-up' | 'gone'

/** The starts and restarts of one engine, from the start of this process on. */
export type EngineLife = {
  /** Notes the result of a check of the engine. */
  noteSign(sign: EngineSign): void
  /** Notes that the engine is dead and does not start, although it was never ready in the lifetime of this process. */
  noteDead(): void
  /** Notes that the engine is ready, or no longer ready. */
  noteReady(ready: boolean): void
  /** A restart was requested and has not begun: the engine must not be used, even if it reports that it is healthy. */
  awaitsRestart(): boolean
  /** The engine restarted three times within the last ten minutes. */
  isSick(): boolean
  /** How long the engine has not been ready; null while it is ready. */
  loadingMs(): number | null
  stop(): void
}

/** The request to restart an engine. A supervisor checks whether it exists. */
export type RestartRequest = {
  create(reason: string): Promise<void>
  remove(): Promise<void>
}

type AskedRestart = {
  readonly reason: RestartReason
  readonly atMs: number
  /** Something listened at the engine's address, before the request or since. */
  wasListening: boolean
  /** The request was written. */
  exists: boolean
  /** A healthy engine answers: the request is not needed any more. */
  isHealthy: boolean
}

const TICK_MS = 250
const RETRY_MS = 5_000
/**
 * An engine that never listened gives no sign that its restart has begun. So the request for its restart is kept for
 * this time, which is a little longer than the 5 s between two checks of the supervisor. Two checks may fall within
 * this time. The supervisor then restarts the engine twice, and the engine loses some seconds of its start.
 */
const UNSEEN_REQUEST_MS = 7_000
const SICK_RESTARTS = 3
const SICK_WITHIN_MS = 600_000

/**
 * States of an engine:
 * - *starting* until it is ready for the first time;
 * - *ready*;
 * - *unready* when it is no longer healthy;
 * - *restarting* after a restart was requested;
 * - *starting* again as soon as connections are refused, because its process has ended then.
 *
 * A restart is requested in three cases, unless `request` is null or the worker drains:
 * - The engine is dead. While it starts this is no reason: some engines listen, and report that they are not healthy,
 *   while they load.
 * - The engine is silent for `silenceMs`: it gives no token, or does not answer although it listens.
 * - A start takes longer than `startLimitMs`, and longer than three times the 95th percentile of the starts that this
 *   process has seen.
 *
 * The request is removed once connections are refused. If no check sees a refused connection, the request is removed
 * once the engine is healthy, unless the engine was silent when the request was made.
 */
export function createEngineLife(deps: {
  request: RestartRequest | null
  /** Returns whether the engine's address refuses connections. */
  isRefused: () => Promise<boolean>
  /** A worker that drains requests no restart. */
  isDraining: () => boolean
  startLimitMs: number
  silenceMs: number
  onRestart: (reason: RestartReason) => void
  /** Called after each start with its length in ms. */
  onStarted: (ms: number) => void
  nowMs: () => number
  log: Logger
}): EngineLife {
  const { request, isRefused, isDraining, startLimitMs, silenceMs, onRestart, onStarted, nowMs, log } = deps
  const starts = createStartTimes()
  const restarts: number[] = []
  /** Null while the engine is ready. */
  let unreadySinceMs: number | null = nowMs()
  /** Null unless the engine is starting. */
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

  /** Notes that the engine's process has ended: the next process that listens is a new engine. */
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
      if (sign === 'silent' || (sign === 'dead' && startingSinceMs === null)) ask(sign)
      // A healthy check ends the request for a restart if the reason of the request is `dead` (a dead engine never
      // recovers, so a new engine answers) or `not-up` (the engine is up). If the reason is `silent`, a healthy check
      // shows nothing, because a silent engine is healthy all the time.
      if (sign === 'healthy' && asked !== null && asked.reason !== 'silent') asked.isHealthy = true
    },
    noteDead: () => ask('dead'),
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
