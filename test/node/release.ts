import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { z } from 'zod'
import { CHART, type Values } from '../chart/chart-values.ts'
import { scratchFolder } from '../support/run-folder.ts'
import { until } from '../support/until.ts'
import { helm, kubectl } from './programs.ts'

/** On two idle cores everything starts within a minute. The interval is long, because each check starts a process. */
export const POLL = { timeout: 900_000, interval: 3_000 }

const ContainerState = z.object({
  name: z.string(),
  containerID: z.string().default(''),
  restartCount: z.int(),
})

const Pod = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
    labels: z.record(z.string(), z.string()),
  }),
  status: z.object({
    phase: z.string(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    initContainerStatuses: z.array(ContainerState).default([]),
    containerStatuses: z.array(ContainerState).default([]),
  }),
})
export type Pod = z.infer<typeof Pod>

const Deployment = z.object({
  metadata: z.object({ name: z.string(), generation: z.int() }),
  spec: z.object({ replicas: z.int() }),
  status: z.object({
    observedGeneration: z.int().default(0),
    replicas: z.int().default(0),
    updatedReplicas: z.int().default(0),
    readyReplicas: z.int().default(0),
  }),
})

const listOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item) })

export type Release = {
  readonly name: string
  readonly namespace: string
  /** The gateway's Service, at the root of the public interface. */
  readonly baseUrl: string
  readonly adminUrl: string
  readonly consoleUrl: string
  /** kubectl in the release's namespace. */
  kubectl(args: readonly string[]): Promise<string>
  /** Installs or upgrades with Helm and these values. Resolves when `settled` does. */
  upgrade(values: Values): Promise<void>
  /** Runs `helm test`. Rejects with the log of a failed test. */
  test(): Promise<void>
  uninstall(): Promise<void>
  /** Resolves when every Deployment has as many ready pods as it wants, and no others. */
  settled(): Promise<void>
  /** Returns the Deployments' pods that are not being deleted, of a component (gateway) or pool (RELEASE-MODEL). */
  pods(part: string): Promise<Pod[]>
  /** Returns the unique ids of all such pods. */
  podIds(): Promise<string[]>
}

/** Returns the release `name` of this repository's chart, installed or not. Its namespace must exist. */
export function toRelease(name: string, namespace: string): Release {
  const inNamespace = ['--namespace', namespace]
  const run = async (args: readonly string[]) => await kubectl([...inNamespace, ...args])

  async function list<Item extends z.ZodType>(kind: string, item: Item): Promise<z.output<Item>[]> {
    const selector = `app.kubernetes.io/instance=${name}`
    return listOf(item).parse(JSON.parse(await run(['get', kind, '-l', selector, '-o', 'json']))).items
  }

  const allPods = async () =>
    (await list('pods', Pod)).filter(
      ({ metadata }) => metadata.labels['batch.kubernetes.io/job-name'] === undefined,
    )
  const livePods = async () =>
    (await allPods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined)

  async function isSettled() {
    const deployments = await list('deployments', Deployment)
    const wanted = deployments.reduce((sum, { spec }) => sum + spec.replicas, 0)
    return (
      deployments.length > 0 &&
      deployments.every(
        ({ metadata, spec, status }) =>
          status.observedGeneration === metadata.generation &&
          [status.replicas, status.updatedReplicas, status.readyReplicas].every((n) => n === spec.replicas),
      ) &&
      (await allPods()).length === wanted
    )
  }

  const settled = async () => await until(isSettled, POLL.timeout, POLL.interval)

  return {
    name,
    namespace,
    baseUrl: `http://${name}-gateway.${namespace}:8080/v1`,
    adminUrl: `http://${name}-billing-admin.${namespace}:8090`,
    consoleUrl: `http://${name}-console.${namespace}:8091`,
    kubectl: run,
    async upgrade(values) {
      const file = join(scratchFolder('values'), 'values.yaml')
      writeFileSync(file, stringify(values))
      await helm(['upgrade', '--install', name, CHART, ...inNamespace, '--values', file])
      await settled()
    },
    async test() {
      try {
        await helm(['test', name, ...inNamespace, '--timeout', '300s'])
      } catch (cause) {
        const logs = await run(['logs', '-l', 'app.kubernetes.io/component=test', '--tail', '100'])
        throw new Error(`helm test: ${logs}`, { cause })
      }
    },
    uninstall: async () => void (await helm(['uninstall', name, ...inNamespace])),
    settled,
    async pods(part) {
      return (await livePods()).filter(
        ({ metadata: { labels } }) =>
          (labels['millrace/pool'] ?? labels['app.kubernetes.io/component']) === part,
      )
    },
    podIds: async () => (await livePods()).map(({ metadata }) => metadata.uid).toSorted(),
  }
}

/** Makes a namespace that admits only pods of the restricted level. */
export async function createNamespace(name: string): Promise<void> {
  await kubectl(['create', 'namespace', name])
  await kubectl(['label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted'])
}

/**
 * Returns the names of all objects in the namespace except events, and of `release`'s objects outside of namespaces.
 */
export async function objectsIn(namespace: string, release: string): Promise<string[]> {
  const inNamespace = ['get', await kinds('true'), '--namespace', namespace, '-o', 'name']
  const ofRelease = ['get', await kinds('false'), '-l', `app.kubernetes.io/instance=${release}`, '-o', 'name']
  const [inside, outside] = await Promise.all([kubectl(inNamespace), kubectl(ofRelease)])
  return [...inside.split('\n'), ...outside.split('\n')].filter((line) => line !== '').toSorted()
}

async function kinds(namespaced: 'true' | 'false'): Promise<string> {
  const all = await kubectl(['api-resources', '--verbs=list', `--namespaced=${namespaced}`, '-o', 'name'])
  const names = all.split('\n').filter((kind) => !/^events\b|\.metrics\.k8s\.io$/.test(kind))
  if (names.length < 5) throw new Error(`the cluster has these kinds only: ${all}`)
  return names.join(',')
}
