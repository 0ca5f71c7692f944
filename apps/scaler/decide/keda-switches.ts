import type { PoolSpec } from './types.ts'

/** The switches that operators set at KEDA for one pool, by annotations of its ScaledObject. */
export type KedaSwitches = {
  /** KEDA does not raise the number of replicas. */
  readonly isOutPaused: boolean
  /** KEDA does not lower the number of replicas. */
  readonly isInPaused: boolean
  /** KEDA keeps at least one replica, whatever the scaler answers. */
  readonly isForcedActive: boolean
}

export const NO_SWITCHES: KedaSwitches = { isOutPaused: false, isInPaused: false, isForcedActive: false }

/** Returns whether KEDA leaves the number of replicas as it is. */
export const isFrozen = ({ isOutPaused, isInPaused }: KedaSwitches): boolean => isOutPaused && isInPaused

/**
 * Returns the pool's configuration with a minimum and a maximum that KEDA can reach with these switches. So replicas
 * that this pool cannot get go to the model's other pools and to other models, and the scaler cordons no pod that KEDA
 * would not remove.
 */
export function boundSpec(
  spec: PoolSpec,
  switches: KedaSwitches,
  /** The present target, and the number of pods that are not being deleted. */
  now: { readonly target: number; readonly existing: number },
): PoolSpec {
  const { isOutPaused, isInPaused, isForcedActive } = switches
  if (isFrozen(switches)) return { ...spec, min: now.existing, max: now.existing }
  const min = Math.max(spec.min, isForcedActive ? 1 : 0, isInPaused ? Math.max(now.target, now.existing) : 0)
  const max = isOutPaused ? Math.min(spec.max, now.target) : Math.max(spec.max, isInPaused ? min : 0)
  return { ...spec, min: Math.min(min, max), max }
}
