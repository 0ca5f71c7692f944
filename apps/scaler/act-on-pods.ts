import type { Redis } from 'ioredis'
import { sendCordon, sendUncordon, type Lease } from '#libs/event-bus/worker-control.ts'
import { KubernetesError, type KubernetesClient } from '#libs/kubernetes/kubernetes-client.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { RELEASE_COST } from './decide/release-pods.ts'
import type { PodView } from './decide/types.ts'
import { DELETION_COST } from './pods.ts'

/** One round's orders for the pods of one pool, by the pods' names. */
export type PodOrders = {
  readonly cordon: readonly string[]
  readonly uncordon: readonly string[]
  readonly release: readonly string[]
}

export type ActOnPods = (pods: readonly PodView[], orders: PodOrders, term: number) => void

/** A cordon ends by itself after this time unless a scaler renews it. */
const CORDON_MS = 10_000

/**
 * Creates the function that carries out orders: it sends cordons to workers and writes deletion costs. The leader calls
 * this function each second with all orders that are in force. Orders that were sent before are among them, so that a
 * lost message or patch does no harm. At most one patch of a pod is in progress. The function returns at once; failures
 * are logged.
 */
export function createActOnPods(options: {
  buses: readonly Redis[]
  client: Pick<KubernetesClient, 'patch'>
  /** The API path of the namespace's pods: `/api/v1/namespaces/<name>/pods`. */
  podsPath: string
  /** Returns the value of the lock in this term, by which workers know the leader. */
  leaseOf: (term: number) => Lease
  /** Returns the boot id of the pod's worker; null when it has not reported. */
  workerOf: (pod: PodView) => string | null
  log: Logger
}): ActOnPods {
  const { buses, client, podsPath, leaseOf, workerOf, log } = options
  const patching = new Set<string>()

  function send(pod: PodView, message: (bus: Redis, worker: string) => Promise<boolean>) {
    const worker = workerOf(pod)
    if (worker === null) return
    for (const bus of buses) {
      message(bus, worker).catch((error: unknown) => {
        log.warn({ err: error, pod: pod.name }, 'cordon not sent')
      })
    }
  }

  async function setCost(pod: PodView, cost: number | null) {
    if (patching.has(pod.uid)) return
    patching.add(pod.uid)
    try {
      const value = cost === null ? null : String(cost)
      // The patch has the pod's uid, so that it does not change a newer pod of the same name.
      const metadata = { uid: pod.uid, annotations: { [DELETION_COST]: value } }
      await client.patch(`${podsPath}/${encodeURIComponent(pod.name)}`, { metadata })
      log.info({ pod: pod.name, cost }, 'deletion cost written')
    } catch (error) {
      const isGone = error instanceof KubernetesError && (error.status === 404 || error.status === 409)
      if (!isGone) log.warn({ err: error, pod: pod.name }, 'deletion cost not written')
    } finally {
      patching.delete(pod.uid)
    }
  }

  return (pods, orders, term) => {
    const lease = leaseOf(term)
    const named = (names: readonly string[]) => pods.filter(({ name }) => names.includes(name))
    for (const pod of named(orders.cordon)) {
      send(pod, async (bus, worker) => await sendCordon(bus, worker, { term, forMs: CORDON_MS, lease }))
    }
    for (const pod of named(orders.uncordon)) {
      if (pod.cordonTerm !== null)
        send(pod, async (bus, worker) => await sendUncordon(bus, worker, { term, lease }))
      if (pod.deletionCost === RELEASE_COST) void setCost(pod, null)
    }
    for (const pod of named(orders.release)) {
      if (pod.deletionCost !== RELEASE_COST) void setCost(pod, RELEASE_COST)
    }
  }
}
