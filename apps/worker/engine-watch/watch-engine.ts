import type { Logger } from '#libs/telemetry/logger.ts'
import type { EngineErrorKind } from '../engine/engine-error.ts'

export type EngineWatch = {
  ready(): boolean
  /**
   * True if the engine is ready and no generation has failed without output within the last second. During that second
   * another worker can claim the failed generation.
   */
  mayPull(): boolean
  /** Notes a token or vector of any generation: the engine works. */
  tokenSeen(): void
  /** The time of the last token, by `nowMs`; while nothing runs, the time of the last check. */
  lastTokenMs(): number
  /** Notes that a generation failed without output, by the engine's fault. */
  failureSeen(): void
  /**
   * Notes a failed call. If the failure suggests that the engine is gone, the engine is checked, and `onLost` is called
   * if it is gone. Both happen before the promise resolves.
   */
  callFailed(kind: EngineErrorKind): Promise<void>
  stop(): void
}

/**
 * The result of a check of the engine. `dead`: the engine's health check reports that it is dead; a dead engine never
 * recovers by itself. `silent`: the engine is healthy and runs generations, but gives no token.
 */
export type EngineSign = 'healthy' | 'dead' | 'unanswered' | 'silent'

const CHECK_MS = 1_000
/**
 * A worker whose generations fail immediately would take every job, so it stops pulling after this many failures in a
 * row.
 */
const FAILURES_IN_A_ROW = 5
const REST_MS = 10_000
/**
 * After a generation has failed without output, this worker does not pull for this time. Other workers claim the failed
 * generation within this time, so the generation runs next on another engine.
 */
const CAUTION_MS = 1_000
const UNANSWERED = 'the health check got no answer'

/**
 * Decides whether generations may be pulled for an engine. The states are *ready* and *unready*.
 *
 * Ready → unready:
 * - A health check or a call reports a dead engine.
 * - Two health checks in a row get no answer. A single missing answer could be a stall of this process. If a call has
 *   failed as well, a single missing answer is enough.
 * - Generations run, and no token came for `silenceMs`. Health checks do not detect such a hang.
 * - Five generations in a row failed without output.
 *
 * Unready → ready: at the next good health check, while `mayBeReady` returns true. After a hang or five failures this
 * takes at least 10 s: the health checks were good during the hang or the failures, so one more good check does not
 * show that the engine works again.
 *
 * `onChange` is called when the state has changed. `onLost` is called before `onChange`, when running generations will
 * not end by themselves. `onSign` is called before `onLost` and `onChange`: with the result of each check, and with
 * `dead` when a call reports a dead engine. A single missing answer that does not change the state is not passed to
 * `onSign`.
 */
export function createEngineWatch(deps: {
  healthCheck: () => Promise<{ healthy: boolean; message: string }>
  running: () => number
  silenceMs: number
  onSign: (sign: EngineSign) => void
  mayBeReady: () => boolean
  onChange: (ready: boolean) => void
  onLost: () => void
  nowMs: () => number
  log: Logger
}): EngineWatch {
  const { healthCheck, running, silenceMs, onSign, mayBeReady, onChange, onLost, nowMs, log } = deps
  let ready = false
  let lastTokenMs = nowMs()
  let failures = 0
  let restUntilMs = 0
  let cautiousUntilMs = 0
  let checking: Promise<void> | null = null
  let rechecking: Promise<void> | null = null
  let unanswered = 0

  function become(next: boolean, reason: string) {
    if (next === ready) return
    ready = next
    failures = 0
    log.info({ ready, reason }, 'engine readiness changed')
    onChange(ready)
  }

  /** Calls `onLost` before the readiness changes, while all runs are still live. */
  function lose(reason: string) {
    if (ready) onLost()
    become(false, reason)
  }

  async function check(patience: 'patient' | 'strict') {
    const problem = await askHealth()
    if (problem === UNANSWERED && ready && unanswered === 1 && patience === 'patient') return
    const now = nowMs()
    if (running() === 0) lastTokenMs = now
    if (problem !== null) {
      onSign(problem === UNANSWERED ? 'unanswered' : 'dead')
      lose(problem)
    } else if (now - lastTokenMs > silenceMs) {
      onSign('silent')
      restUntilMs = now + REST_MS
      lose('no token for too long')
    } else {
      onSign('healthy')
      if (now >= restUntilMs && mayBeReady()) become(true, 'healthy')
    }
  }

  async function checkOnce() {
    checking ??= check('patient').finally(() => (checking = null))
    await checking
  }

  /** Checks again after the check under way, which may have begun before the failure. */
  async function recheck() {
    if (checking !== null) await checking
    if (ready) await check('strict')
  }

  async function askHealth(): Promise<string | null> {
    try {
      const { healthy, message } = await healthCheck()
      unanswered = 0
      return healthy ? null : message
    } catch (error) {
      unanswered += 1
      log.info({ err: error }, UNANSWERED)
      return UNANSWERED
    }
  }

  void checkOnce()
  const timer = setInterval(() => void checkOnce(), CHECK_MS)

  return {
    ready: () => ready,
    mayPull: () => ready && nowMs() >= cautiousUntilMs,
    tokenSeen() {
      lastTokenMs = nowMs()
      failures = 0
    },
    lastTokenMs: () => lastTokenMs,
    failureSeen() {
      cautiousUntilMs = nowMs() + CAUTION_MS
      failures += 1
      if (failures < FAILURES_IN_A_ROW) return
      restUntilMs = nowMs() + REST_MS
      become(false, `${FAILURES_IN_A_ROW} failures in a row`)
    },
    async callFailed(kind) {
      if (kind === 'dead') {
        onSign('dead')
        lose('a call reported a dead engine')
      }
      if (kind !== 'unavailable') return
      rechecking ??= recheck().finally(() => (rechecking = null))
      await rechecking
    },
    stop: () => clearInterval(timer),
  }
}
