import { BEAT_MS } from '#libs/event-bus/heartbeat.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'

/**
 * The phases of this process, in order. The process is ready only while `serving`; /readyz reports the other phases as
 * reasons.
 */
type Phase = 'waiting for the queue Redis' | 'waiting for the bus Redis' | 'starting' | 'serving' | 'stopping'

export type GatewayReadiness = {
  enter(phase: Phase): void
  /** Called when the heartbeats of workers begin to be received. */
  listensToWorkers(): void
  read: Readiness
}

/**
 * Every worker has sent a heartbeat within this time after the gateway began to receive heartbeats. Until then a served
 * model may look unavailable.
 */
const PICTURE_COMPLETE_MS = 1.2 * BEAT_MS

/** `knowsBilling` returns true once billing was reached, so that the catalog is billing's own and not the fallback. */
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
