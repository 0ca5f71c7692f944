import { isFrozen, type KedaSwitches } from './decide/keda-switches.ts'
import type { GatewayPool } from './scaler-models.ts'
import type { GatewayState } from './snapshot.ts'

/** If the event loop of gateways is late by more than this, more gateways are needed. */
const LATE_MS = 50
const LATE_FACTOR = 1.25
/**
 * The time between two steps down. It is long, because streams last minutes, and a gateway drains them before it ends.
 */
const STEP_MS = 300_000

/**
 * Computes the number of gateways: open streams divided by the streams that one gateway may have, rounded up and kept
 * within the pool's minimum and maximum. A quarter is added while event loops are late: each gateway reports the 99th
 * percentile of its loop's delay, and the median of these values is above 50 ms. The number rises at once, and falls by
 * one in 5 min. Without reports it does not change.
 *
 * While KEDA is paused in a direction, the number does not move in this direction. So KEDA does not make a jump when
 * the pause ends.
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
 * Returns the present target, but only as far as KEDA can bring the replicas to it. While KEDA may not raise the number
 * of replicas, the result is at most this number. While KEDA may not lower it, the result is at least this number.
 */
function toHeld(switches: KedaSwitches, now: { target: number; replicas: number }): number {
  if (switches.isOutPaused) return Math.min(now.target, now.replicas)
  return switches.isInPaused ? Math.max(now.target, now.replicas) : now.target
}
