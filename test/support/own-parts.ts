import type { EnginePlan, TestGateway } from './cluster.ts'
import { freePort } from './free-port.ts'
import { startApp, type RunningApp } from './processes.ts'
import type { SharedCluster } from './shared-cluster.ts'

type Connections = Pick<SharedCluster, 'redisUrl' | 'billingAddress'>

const urlsOf = ({ redisUrl }: Connections) => ({ QUEUE_REDIS_URL: redisUrl, BUS_REDIS_URL: redisUrl })

/** Starts a gateway for one test on the shared cluster. The test stops it. */
export async function startOwnGateway(
  cluster: Connections,
  env: Readonly<Record<string, string>>,
): Promise<TestGateway> {
  const port = await freePort()
  const app = await startApp('gateway', {
    ...urlsOf(cluster),
    PORT: String(port),
    BILLING_ADDRESS: cluster.billingAddress,
    ...env,
  })
  return { ...app, baseUrl: `http://127.0.0.1:${port}/v1` }
}

/** Workers for one test on the shared cluster, and their engines. Their models are in `UNSERVED_MODELS`. */
export type OwnWorkers = {
  workers: readonly RunningApp[]
  simulator: RunningApp
  stop(): Promise<void>
}

/** Starts one worker process for each list of engines. */
export async function startOwnWorkers(
  cluster: Connections,
  plans: readonly (readonly EnginePlan[])[],
  env: Readonly<Record<string, string>> = {},
): Promise<OwnWorkers> {
  const placed = await Promise.all(
    plans.map((engines) =>
      Promise.all(engines.map(async (plan) => ({ ...plan, listen: `127.0.0.1:${await freePort()}` }))),
    ),
  )
  const simulator = await startApp('simulator', { SIMULATOR_ENGINES: JSON.stringify(placed.flat()) })
  const workers = await Promise.all(
    placed.map((engines) =>
      startApp('worker', {
        ...urlsOf(cluster),
        WORKERS: JSON.stringify(
          engines.map(({ model, files, listen }) => ({ model, files, engine: listen })),
        ),
        ...env,
      }),
    ),
  )
  return {
    workers,
    simulator,
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()))
      await simulator.stop()
    },
  }
}
