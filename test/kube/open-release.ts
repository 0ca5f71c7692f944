import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { CHART, mergeValues, type Values } from '../chart/chart-values.ts'
import { scratchFolder } from '../support/run-folder.ts'
import { startClusterScaler, type ClusterScaler } from './cluster-scaler.ts'
import { openKedaAddress, type KedaAddress } from './keda-address.ts'
import { connectCluster, kubectl, runProgram } from './lab/cluster.ts'
import { BASE, RELEASE } from './release-values.ts'
import { watchNamespace, type ClusterWatch, type WatchedPod } from './watch-cluster.ts'

export type Release = {
  readonly namespace: string
  readonly watch: ClusterWatch
  readonly scalers: readonly ClusterScaler[]
  /** The address at which KEDA reaches the scalers. */
  readonly keda: KedaAddress
  /** The file with the token of the scaler's ServiceAccount. */
  readonly tokenFile: string
  /** Returns the scaler that leads. Throws if none does. */
  leader(): Promise<ClusterScaler>
  /** Starts another scaler, like a Deployment whose pod has ended. Resolves when it is ready. */
  addScaler(): Promise<ClusterScaler>
  /** Calls the listener with all worker pods after each change of them. */
  onPods(listener: (pods: readonly WatchedPod[]) => void): void
  /** Installs or upgrades the release. These values override the values of the start. */
  upgrade(values?: Values): Promise<void>
  close(): Promise<void>
}

/**
 * Installs the chart in a new namespace. Its scalers run as processes outside the cluster, with the rights and the
 * models file that the chart gives them.
 */
export async function openRelease(options: {
  queueUrl: string
  busUrl: string
  models: Readonly<Record<string, Values>>
  values?: Values
  scalers?: number
  /** Called before the listeners of `onPods`, from the first pod on. */
  follow: (pods: ReadonlyMap<string, WatchedPod>) => void
}): Promise<Release> {
  const { queueUrl, busUrl, models, values = {}, scalers: count = 1, follow } = options
  const namespace = `kube-${randomUUID().slice(0, 8)}`
  const keda = await openKedaAddress()
  const client = connectCluster()
  await kubectl(['create', 'namespace', namespace])
  const own = mergeValues(mergeValues(BASE, { scaler: { address: keda.address }, models }), values)
  const upgrade = async (more: Values = {}) => await installRelease(namespace, mergeValues(own, more))
  await upgrade()
  const listeners = new Set<(pods: readonly WatchedPod[]) => void>()
  const watch = watchNamespace({
    client,
    namespace,
    onPods(pods) {
      follow(pods)
      for (const listener of listeners) listener([...pods.values()])
    },
  })
  const access = await readAccess(namespace)
  const scalers: ClusterScaler[] = []

  async function addScaler() {
    const scaler = await startClusterScaler({ ...access, queueUrl, busUrl, namespace, release: RELEASE })
    scalers.push(scaler)
    keda.setBackends(scalers.filter((other) => !other.hasExited()).map(({ kedaPort }) => kedaPort))
    return scaler
  }

  await Promise.all(Array.from({ length: count }, addScaler))
  return {
    namespace,
    watch,
    scalers,
    keda,
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
      client.close()
      await keda.close()
    },
  }
}

/** Runs `helm upgrade --install` with this repository's chart. */
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

/** Returns the scaler's token and models file with the content that the scaler's pod would have. */
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
