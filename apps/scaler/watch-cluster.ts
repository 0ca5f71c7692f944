import { followObjects } from '#libs/kubernetes/follow-objects.ts'
import type { KubernetesClient } from '#libs/kubernetes/kubernetes-client.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Cluster } from './control.ts'
import { NO_SWITCHES } from './decide/keda-switches.ts'
import { createJoinPods, Deployment, Pod, POOL_LABEL, ScaledObject, toSwitches } from './pods.ts'
import type { CapacityReader } from './signals/read-capacity.ts'

export type WatchedCluster = Cluster & { readonly podsPath: string; stop(): Promise<void> }

/**
 * Follows the pods of all pools, the Deployments and the ScaledObjects of a namespace. It needs the rights get, list
 * and watch on these three kinds.
 */
export function watchCluster(options: {
  client: KubernetesClient
  namespace: string
  capacity: CapacityReader
  nowMs: () => number
  log: Logger
}): WatchedCluster {
  const { client, capacity, nowMs, log } = options
  const namespace = `namespaces/${encodeURIComponent(options.namespace)}`
  const podsPath = `/api/v1/${namespace}/pods`
  const common = { client, nowMs, log }
  const pods = followObjects({ ...common, path: podsPath, labelSelector: POOL_LABEL, schema: Pod })
  const deployments = followObjects({
    ...common,
    path: `/apis/apps/v1/${namespace}/deployments`,
    schema: Deployment,
  })
  const scaledObjects = followObjects({
    ...common,
    path: `/apis/keda.sh/v1alpha1/${namespace}/scaledobjects`,
    schema: ScaledObject,
  })
  const followed = [pods, deployments, scaledObjects]
  const join = createJoinPods(capacity)
  return {
    podsPath,
    join: (unixMs) => join(pods.current().values(), unixMs),
    switchesOf(name) {
      const found = [...scaledObjects.current().values()].find((object) => named(object, name))
      return found === undefined ? NO_SWITCHES : toSwitches(found)
    },
    replicasOf(name) {
      const found = [...deployments.current().values()].find((object) => named(object, name))
      return found === undefined ? null : (found.spec.replicas ?? 1)
    },
    behindMs: () => Math.max(...followed.map(({ behindMs }) => behindMs())),
    stop: async () => void (await Promise.all(followed.map(async ({ stop }) => await stop()))),
  }
}

const named = (object: { metadata: { name: string } }, name: string) => object.metadata.name === name
