import type { PodView } from './types.ts'

/**
 * Up to `count` pods that a pool can best do without: unscheduled, loading, sick, those that an operator cordoned, then
 * serving ones by the fewest generations; ones that do not report come last. Pods that already stop are not chosen.
 */
export function choosePods(pods: readonly PodView[], count: number): readonly PodView[] {
  return pods
    .filter(({ phase }) => phase !== 'deleting' && phase !== 'draining')
    .toSorted((a, b) => rank(a) - rank(b) || a.running - b.running || b.sincePhaseMs - a.sincePhaseMs)
    .slice(0, count)
}

/** True when the pod serves nothing that a cordon would have to protect. */
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
