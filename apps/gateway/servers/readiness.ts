import { BEAT_MS } from '#libs/event-bus/heartbeat.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'

/** The phases of this process, in order. Only one of them serves; the others are reasons on /readyz. */
type Phase = 'waiting for the queue Redis' | 'waiting for the bus Redis' | 'starting' | 'serving' | 'stopping'

export type GatewayReadiness = {
  enter(phase: Phase): void
  /** The heartbeats of workers are received from now on. */
  listensToWorkers(): void
  read: Readiness
}

/** Every worker sends a heartbeat in this time; until then a served model may look unavailable. */
const PICTURE_COMPLETE_MS = 1.2 * BEAT_MS

/** `knowsBilling`: billing was reached once, so the catalog is its own and not the fallback. */
export function createReadiness(deps: {
  knowsBilling: () => boolean
  nowMs: () => number
}): GatewayReadiness {
  const { knowsBilling, nowMs } = deps
  let phase: Phase = 'waiting for the queue Redis'
  let completeAtMs = Infinity
  return {
    enter(next) {
      phase = next
    },
    listensToWorkers() {
      completeAtMs = nowMs() + PICTURE_COMPLETE_MS
    },
    read() {
      if (phase !== 'serving') return { ready: false, reason: phase }
      if (nowMs() < completeAtMs) return { ready: false, reason: 'waiting for the heartbeats of workers' }
      return knowsBilling() ? { ready: true } : { ready: false, reason: 'billing has never been reached' }
    },
  }
}
