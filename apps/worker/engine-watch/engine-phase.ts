import type { WorkerPhase } from '#libs/event-bus/heartbeat.ts'

/**
 * Returns the phase of one engine, as scalers and operators see it. If several conditions are true, the one that lasts
 * longest decides: a worker that drains takes no more work whatever its engine does, and a cordon can end at any time.
 */
export function toPhase(of: {
  readonly draining: boolean
  readonly sick: boolean
  readonly healthy: boolean
  readonly cordoned: boolean
}): WorkerPhase {
  if (of.draining) return 'draining'
  if (of.sick) return 'sick'
  if (!of.healthy) return 'loading'
  return of.cordoned ? 'cordoned' : 'ready'
}
