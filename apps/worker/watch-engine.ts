import type { Logger } from '#libs/telemetry/logger.ts'

export type EngineWatch = {
  ready(): boolean
  /** A token or vector came, of any generation: the engine works. */
  tokenSeen(): void
  /** A generation failed without output, by the engine's fault. */
  failureSeen(): void
  stop(): void
}

const CHECK_MS = 1_000
/** A worker whose generations fail at once would take every ticket, so it stops pulling after this many in a row. */
const FAILURES_IN_A_ROW = 5
const REST_MS = 10_000
const UNANSWERED = 'the health check got no answer'

/**
 * Decides whether tickets may be pulled for an engine. States: ready → unready when a health check reports a dead
 * engine, when two in a row get no answer (one may be a stall of this process), when generations run and no token came for
 * `silenceMs` (health checks do not see a hang), or after five failures in a row; unready → ready at the next good health
 * check, but not within 10 s of a hang or of five failures: there the checks had been good all along.
 *
 * `onChange` is called at each move, `onLost` when running generations will not end by themselves.
 */
export function createEngineWatch(deps: {
  healthCheck: () => Promise<{ healthy: boolean; message: string }>
  running: () => number
  silenceMs: number
  onChange: (ready: boolean) => void
  onLost: () => void
  nowMs: () => number
  log: Logger
}): EngineWatch {
  const { healthCheck, running, silenceMs, onChange, onLost, nowMs, log } = deps
  let ready = false
  let lastTokenMs = nowMs()
  let failures = 0
  let restUntilMs = 0
  let checking = false
  let unanswered = 0

  function become(next: boolean, reason: string) {
    if (next === ready) return
    ready = next
    failures = 0
    log.info({ ready, reason }, 'engine readiness changed')
    onChange(ready)
  }

  async function check() {
    if (checking) return
    checking = true
    const problem = await askHealth()
    checking = false
    if (problem === UNANSWERED && ready && unanswered === 1) return
    const now = nowMs()
    if (running() === 0) lastTokenMs = now
    if (problem !== null) {
      if (ready) onLost()
      become(false, problem)
    } else if (now - lastTokenMs > silenceMs) {
      restUntilMs = now + REST_MS
      if (ready) onLost()
      become(false, 'no token for too long')
    } else if (now >= restUntilMs) {
      become(true, 'healthy')
    }
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

  void check()
  const timer = setInterval(() => void check(), CHECK_MS)

  return {
    ready: () => ready,
    tokenSeen() {
      lastTokenMs = nowMs()
      failures = 0
    },
    failureSeen() {
      failures += 1
      if (failures < FAILURES_IN_A_ROW) return
      restUntilMs = nowMs() + REST_MS
      become(false, `${FAILURES_IN_A_ROW} failures in a row`)
    },
    stop: () => clearInterval(timer),
  }
}
