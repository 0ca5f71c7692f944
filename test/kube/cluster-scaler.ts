import { z } from 'zod'
import { freePort } from '../support/free-port.ts'
import { startApp } from '../support/processes.ts'
import { clusterPlace } from './lab/cluster.ts'

const Page = z.object({ models: z.array(z.looseObject({ model: z.string(), state: z.string() })) })

export type ClusterScaler = Awaited<ReturnType<typeof startClusterScaler>>

/** Runs `apps/scaler` with the rights of the chart's ServiceAccount and resolves when it is ready. */
export async function startClusterScaler(options: {
  namespace: string
  release: string
  queueUrl: string
  busUrl: string
  tokenFile: string
  modelsFile: string
}) {
  const { url, caFile } = clusterPlace()
  const kedaPort = await freePort()
  const app = await startApp('scaler', {
    QUEUE_REDIS_URL: options.queueUrl,
    BUS_REDIS_URL: options.busUrl,
    SCALER_NAME: options.release,
    SCALER_MODELS_FILE: options.modelsFile,
    KEDA_LISTEN: `127.0.0.1:${kedaPort}`,
    KUBERNETES_URL: url,
    KUBERNETES_CA_FILE: caFile,
    KUBERNETES_TOKEN_FILE: options.tokenFile,
    KUBERNETES_NAMESPACE: options.namespace,
  })
  const read = async (path: string) =>
    await (await fetch(`${app.opsUrl}${path}`, { signal: AbortSignal.timeout(10_000) })).text()
  return {
    ...app,
    kedaPort,
    metrics: async () => await read('/metrics'),
    models: async () => Page.parse(JSON.parse(await read('/models'))).models,
    async isLeader() {
      if (app.hasExited()) return false
      return /^millrace_scaler_leader 1$/m.test(await read('/metrics'))
    },
    async end() {
      if (!app.hasExited()) await app.stop()
    },
  }
}

/** Returns the sum of a metric over its labels; 0 if it has no sample. */
export function sumMetric(metrics: string, name: string): number {
  return metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
