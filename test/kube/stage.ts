import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { CHART, mergeValues, type Values } from '../chart/chart-values.ts'
import { startFakeGateway, type FakeGateway } from '../integration/scaler/fake-gateway.ts'
import { createRedis, type TestRedis } from '../support/redis.ts'
import { scratchFolder } from '../support/run-folder.ts'
import { startFakeWorkers, type FakeWorkers } from './fake-workers.ts'
import { openKedaAddress } from './keda-address.ts'
import { connectCluster, kubectl, runProgram } from './lab/cluster.ts'
import { startClusterScaler, type ClusterScaler } from './cluster-scaler.ts'
import { watchNamespace, type ClusterWatch, type WatchedPod } from './watch-cluster.ts'

export const RELEASE = 'mr'

const SMALL = { requests: { cpu: '1m', memory: '1Mi' }, limits: { memory: '4Mi' } }

/** Pods that fit many to a fake node; one gateway, which is not scaled. */
const BASE: Values = {
  engineDefaults: {
    image: { repository: 'registry.example/engine', tag: '1' },
    resources: SMALL,
    sharedMemory: '1Mi',
  },
  gateway: { replicas: { min: 1, max: 1 } },
  billing: { replicas: 1 },
  worker: { resources: SMALL },
  scaleDefaults: {
    min: 0,
    max: 10,
    utilization: 1,
    idleSeconds: 600,
    downWindowSeconds: 10,
    startSeconds: 5,
  },
}

/** A model's values; `pool` names its Deployment. */
export const modelValues = (fields: Values = {}): Values =>
  mergeValues(
    {
      family: 'qwen3',
      weights: { path: 'weights', volume: { emptyDir: {} } },
      contextWindow: 8192,
      maxOutputTokens: 4096,
      slots: 10,
      gpu: { count: 0 },
      pod: { podAnnotations: { 'kube-lab/ready-after': '1s' } },
    },
    fields,
  )

export const poolName = (model: string): string => `${RELEASE}-${model}`

export type Stage = {
  readonly namespace: string
  readonly queue: TestRedis
  readonly bus: TestRedis
  readonly watch: ClusterWatch
  readonly workers: FakeWorkers
  readonly gateway: FakeGateway
  readonly scalers: readonly ClusterScaler[]
  /** The token of the scaler's ServiceAccount. */
  readonly tokenFile: string
  /** The scaler that leads; throws when none does. */
  leader(): Promise<ClusterScaler>
  /** Starts one more, as a Deployment does in place of one that ended; resolves when it is ready. */
  addScaler(): Promise<ClusterScaler>
  /** Calls the listener with the worker pods after each of their changes. */
  onPods(listener: (pods: readonly WatchedPod[]) => void): void
  /** Installs or upgrades the release with these values over those of the start. */
  upgrade(values?: Values): Promise<void>
  close(): Promise<void>
}

/**
 * The chart in a namespace of its own, the scalers of its release as processes outside the cluster with the rights and the
 * models file of the chart, workers and a gateway that are played, and a Redis of its own.
 */
export async function openStage(options: {
  models: Readonly<Record<string, Values>>
  values?: Values
  scalers?: number
  generationMs?: number
}): Promise<Stage> {
  const { models, values = {}, scalers: count = 1, generationMs = 2_000 } = options
  const namespace = `kube-${randomUUID().slice(0, 8)}`
  const [queue, bus] = await Promise.all([createRedis(), createRedis()])
  const keda = await openKedaAddress()
  const client = connectCluster()
  const workers = await startFakeWorkers({ queueUrl: queue.url, busUrl: bus.url, generationMs })
  const gateway = startFakeGateway(bus.url)
  await kubectl(['create', 'namespace', namespace])
  const own = mergeValues(mergeValues(BASE, { scaler: { address: keda.address }, models }), values)
  const upgrade = async (more: Values = {}) => await installRelease(namespace, mergeValues(own, more))
  await upgrade()
  const listeners = new Set<(pods: readonly WatchedPod[]) => void>()
  const watch = watchNamespace({
    client,
    namespace,
    onPods(pods) {
      workers.follow(pods)
      for (const listener of listeners) listener([...pods.values()])
    },
  })
  const access = await readAccess(namespace)
  const scalers: ClusterScaler[] = []

  async function addScaler() {
    const urls = { queueUrl: queue.url, busUrl: bus.url }
    const scaler = await startClusterScaler({ ...access, ...urls, namespace, release: RELEASE })
    scalers.push(scaler)
    keda.setBackends(scalers.filter((other) => !other.hasExited()).map(({ kedaPort }) => kedaPort))
    return scaler
  }

  await Promise.all(Array.from({ length: count }, addScaler))
  return {
    namespace,
    queue,
    bus,
    watch,
    workers,
    gateway,
    scalers,
    tokenFile: access.tokenFile,
    async leader() {
      for (const scaler of scalers) if (await scaler.isLeader()) return scaler
      throw new Error('no scaler leads')
    },
    addScaler,
    onPods: (listener) => void listeners.add(listener),
    upgrade,
    async close() {
      await runProgram('helm', ['uninstall', RELEASE, '--namespace', namespace])
      await kubectl(['delete', 'namespace', namespace, '--wait=false'])
      await watch.stop()
      await Promise.all(scalers.map(async (scaler) => await scaler.end()))
      gateway.stop()
      await workers.stop()
      client.close()
      await keda.close()
      await Promise.all([queue.stop(), bus.stop()])
    },
  }
}

/** `helm upgrade --install` of the chart as it is in this repository. */
async function installRelease(namespace: string, values: Values): Promise<void> {
  const file = join(scratchFolder('values'), 'values.yaml')
  writeFileSync(file, stringify(values))
  await runProgram('helm', [
    'upgrade',
    '--install',
    RELEASE,
    CHART,
    '--namespace',
    namespace,
    '--values',
    file,
  ])
}

/** The scaler's token and models file, as its pod would have them. */
async function readAccess(namespace: string): Promise<{ tokenFile: string; modelsFile: string }> {
  const folder = scratchFolder('scaler-access')
  const [tokenFile, modelsFile] = [join(folder, 'token'), join(folder, 'models.json')]
  const name = `${RELEASE}-scaler`
  const inNamespace = ['--namespace', namespace]
  const token = await kubectl(['create', 'token', name, ...inNamespace, '--duration', '6h'])
  const models = await kubectl([
    'get',
    'configmap',
    name,
    ...inNamespace,
    '-o',
    String.raw`jsonpath={.data.models\.json}`,
  ])
  writeFileSync(tokenFile, token, { mode: 0o600 })
  writeFileSync(modelsFile, models)
  return { tokenFile, modelsFile }
}
