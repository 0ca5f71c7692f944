import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { freePort } from '../../support/free-port.ts'
import { startApp } from '../../support/processes.ts'
import { scratchFolder } from '../../support/run-folder.ts'
import { connectKeda } from './keda-client.ts'
import { NAMESPACE } from './fake-cluster.ts'

/** Returns a pool of the models file. Its time windows are small to keep the tests short. */
export const poolOf = (pool: string, fields: Record<string, unknown> = {}) => ({
  pool,
  model: pool,
  gpuClass: null,
  gpus: 1,
  min: 0,
  max: 10,
  floors: [],
  priority: 50,
  order: 1,
  slots: 10,
  targetWaitSeconds: 60,
  utilization: 1,
  idleSeconds: 600,
  downWindowSeconds: 0,
  startSeconds: 60,
  spot: false,
  ...fields,
})

const Page = z.object({ models: z.array(z.looseObject({ model: z.string(), why: z.string() })) })

export type RunningScaler = Awaited<ReturnType<typeof startScaler>>

/** Runs `apps/scaler` as a process and resolves when it has a snapshot. */
export async function startScaler(options: {
  redisUrl: string
  apiUrl: string
  name: string
  pools: readonly object[]
  gateway?: object | null
  /** Further environment variables. */
  env?: Readonly<Record<string, string>>
}) {
  const file = join(scratchFolder('scaler'), 'models.json')
  const { pools, gateway = null } = options
  writeFileSync(file, JSON.stringify({ pools, budget: {}, gateway, hpaTolerance: 0 }))
  const address = `127.0.0.1:${await freePort()}`
  const app = await startApp('scaler', {
    QUEUE_REDIS_URL: options.redisUrl,
    BUS_REDIS_URL: options.redisUrl,
    SCALER_NAME: options.name,
    SCALER_MODELS_FILE: file,
    KEDA_LISTEN: address,
    KUBERNETES_URL: options.apiUrl,
    KUBERNETES_NAMESPACE: NAMESPACE,
    LOG_LEVEL: 'debug',
    ...options.env,
  })
  const keda = connectKeda(address)
  const read = async (path: string) => await fetch(`${app.opsUrl}${path}`)
  return {
    ...app,
    keda,
    models: async () => Page.parse(await (await read('/models')).json()).models,
    metrics: async () => await (await read('/metrics')).text(),
    isLeader: async () => /^millrace_scaler_leader 1$/m.test(await (await read('/metrics')).text()),
    async end() {
      keda.close()
      await app.stop()
    },
  }
}

/** Runs KEDA's two loops and the HPA over several scalers until `stop`, only the parts that change replicas. */
export function runKedaLoops(options: {
  scalers: readonly RunningScaler[]
  pool: string
  scale: (replicas: number) => void
  replicas: () => number
}) {
  const { scalers, pool, scale, replicas } = options
  const stopping = new AbortController()
  let turn = 0
  const failures: number[] = []

  async function poll() {
    const keda = scalers[turn++ % scalers.length]?.keda
    if (keda === undefined) return
    try {
      await keda.spec(pool)
      const target = await keda.target(pool)
      const isActive = await keda.isActive(pool)
      if (stopping.signal.aborted) return
      if (replicas() === 0) {
        if (isActive) scale(1)
      } else if (!isActive) scale(0)
      // The HPA of a ScaledObject does not go below one replica.
      else if (target !== undefined) scale(Math.max(1, target))
    } catch {
      failures.push(performance.now())
    }
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      await poll()
      await sleep(200)
    }
  })()
  return {
    failures,
    async stop() {
      stopping.abort()
      await running
    },
  }
}
