import type { Fleet, Pod } from './fleet.ts'

/** The HPA checks its metric this often, in seconds. */
export const HPA_PERIOD_S = 15

/**
 * Sets a Deployment to this many replicas. A ReplicaSet first deletes the pods that are not ready, then the pods with
 * the lowest deletion cost, then the newest pods.
 */
export function setReplicas(fleet: Fleet, replicas: number, nowS: number): void {
  const alive = fleet.alive()
  for (let count = alive.length; count < replicas; count += 1) fleet.create(nowS, false)
  if (alive.length <= replicas) return
  const order = alive.toSorted(
    (a, b) =>
      readiness(a, nowS) - readiness(b, nowS) || cost(a) - cost(b) || b.bornS - a.bornS || b.id - a.id,
  )
  for (const pod of order.slice(0, alive.length - replicas)) fleet.remove(pod)
}

function readiness(pod: Pod, nowS: number): number {
  return Number(pod.readyS <= nowS)
}

function cost(pod: Pod): number {
  return pod.deletionCost ?? 0
}
