import { isFrozen, type KedaSwitches } from './decide/keda-switches.ts'
import type { GatewayPool } from './scaler-models.ts'
import type { GatewayState } from './snapshot.ts'

/** If the event loop of gateways is late by more than this, more gateways are needed. */
const LATE_MS = 50
const LATE_FACTOR = 1.25
/**
 * The number of gateways falls only if it has neither risen nor fallen for this time. The time is long, because streams
 * last minutes, and a gateway drains its streams before it ends.
 */
const STEP_MS = 300_000

/**
 * Computes the number of gateways: the open streams divided by the streams that one gateway may have. While event loops
 * are late, a quarter of this quotient is added. The result is rounded up and kept within the pool's minimum and
 * maximum. Each gateway reports the 99th percentile of its loop's delay; event loops count as late while the median of
 * these values is above 50 ms. The number of gateways rises at once, and falls by at most one in 5 min. Without reports
 * it does not change.
 *
 * While KEDA is paused in one direction (up or down), the number does not move in that direction. So KEDA does not make
 * a jump when the pause ends.
 */
export function scaleGateways(input: {
  pool: GatewayPool
  state: GatewayState
  /** The load of all gateways; null when none reports. */
  load: { openStreams: number; loopDelayMs: number } | null
  switches: KedaSwitches
  /** The replicas in the spec of the Deployment; null when unknown. */
  replicas: number | null
  nowMs: number
}): GatewayState {
  const { pool, state, load, switches, nowMs } = input
  const replicas = input.replicas ?? state.target
  if (isFrozen(switches)) return { target: replicas, lastDownMs: nowMs }
  const clamp = (number: number) => Math.min(pool.max, Math.max(pool.min, number))
  const held = clamp(toHeld(switches, { target: state.target, replicas }))
  if (load === null) return { ...state, target: held }
  const byStreams = load.openStreams / pool.streamsPerPod
  const need = clamp(Math.ceil(load.loopDelayMs > LATE_MS ? byStreams * LATE_FACTOR : byStreams))
  if (need > held && switches.isOutPaused) return { ...state, target: held }
  if (need < held && switches.isInPaused) return { target: held, lastDownMs: nowMs }
  if (need >= held) return { target: need, lastDownMs: need > held ? nowMs : state.lastDownMs }
  const isDue = state.lastDownMs === null || nowMs - state.lastDownMs >= STEP_MS
  return isDue ? { target: held - 1, lastDownMs: nowMs } : { ...state, target: held }
}

/**
 * Returns the present target, limited to what KEDA can reach. While KEDA may not raise the number of replicas, the
 * result is at most the present number. While KEDA may not lower it, the result is at least the present number.
 */
function toHeld(switches: KedaSwitches, now: { target: number; replicas: number }): number {
  if (switches.isOutPaused) return Math.min(now.target, now.replicas)
  return switches.isInPaused ? Math.max(now.target, now.replicas) : now.target
}
