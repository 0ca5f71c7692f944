import type { WorkerPhase } from '#libs/event-bus/scaling-signals.ts'

/**
 * The phase of one engine of this worker, as scalers and operators see it. What lasts longest comes first: a worker that
 * drains takes nothing more whatever its engine does, and a cordon ends by itself.
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
