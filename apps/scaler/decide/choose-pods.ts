import type { PodView } from './types.ts'

/**
 * Returns up to `count` pods that a pool can best do without, in this order: unscheduled, loading, sick, cordoned by an
 * operator, serving (the fewest generations first), not reporting. Pods that are already stopping are not chosen.
 */
export function choosePods(pods: readonly PodView[], count: number): readonly PodView[] {
  return pods
    .filter(({ phase }) => phase !== 'deleting' && phase !== 'draining')
    .toSorted((a, b) => rank(a) - rank(b) || a.running - b.running || b.sincePhaseMs - a.sincePhaseMs)
    .slice(0, count)
}

/** Returns true if the pod runs nothing that a cordon would have to protect. */
export function needsNoCordon({ phase, running }: PodView): boolean {
  return running === 0 && (phase === 'unscheduled' || phase === 'loading' || phase === 'sick')
}

function rank(pod: PodView): number {
  if (pod.phase === 'unscheduled') return 0
  if (pod.phase === 'loading') return 1
  if (pod.phase === 'sick') return 2
  if (pod.phase === 'silent') return 5
  return pod.operatorCordoned ? 3 : 4
}
