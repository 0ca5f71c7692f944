import type { GatewayPool } from './scaler-models.ts'
import type { GatewayState } from './snapshot.ts'

/** If the event loop of gateways is late by more than this, more gateways are needed. */
const LATE_MS = 50
const LATE_FACTOR = 1.25
/** The time between two steps down: streams last minutes, and a gateway drains them before it ends. */
const STEP_MS = 300_000

/**
 * Computes the number of gateways: open streams divided by the streams that one gateway may have. A quarter is added
 * while the event loop of the median gateway is late by more than 50 ms (99th percentile). The number rises at once and
 * falls by one in 5 min. Without reports it does not change.
 */
export function scaleGateways(input: {
  pool: GatewayPool
  state: GatewayState
  /** The load of all gateways; null when none reports. */
  load: { openStreams: number; loopDelayMs: number } | null
  nowMs: number
}): GatewayState {
  const { pool, state, load, nowMs } = input
  const clamp = (replicas: number) => Math.min(pool.max, Math.max(pool.min, replicas))
  const held = clamp(state.target)
  if (load === null) return { ...state, target: held }
  const byStreams = load.openStreams / pool.streamsPerPod
  const need = clamp(Math.ceil(load.loopDelayMs > LATE_MS ? byStreams * LATE_FACTOR : byStreams))
  if (need >= held) return { target: need, lastDownMs: need > held ? nowMs : state.lastDownMs }
  const isDue = state.lastDownMs === null || nowMs - state.lastDownMs >= STEP_MS
  return isDue ? { target: held - 1, lastDownMs: nowMs } : { ...state, target: held }
}
