import type { GatewayPool } from './scaler-models.ts'
import type { GatewayState } from './snapshot.ts'

/** Gateways whose event loop is late for more than this need company. */
const LATE_MS = 50
const LATE_FACTOR = 1.25
/** Between two steps down: streams last minutes, and a gateway that goes drains them. */
const STEP_MS = 300_000

/**
 * The number of gateways: open streams over what one may have, a quarter more while the median gateway's event loop is
 * late by more than 50 ms (99th percentile). Up at once, down by one in 5 min. Without reports the number stays.
 */
export function scaleGateways(input: {
  pool: GatewayPool
  state: GatewayState
  /** Of all gateways; null when none reports. */
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
