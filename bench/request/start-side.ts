import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createPostgres } from '#test/support/postgres.ts'
import { POSTGRES_URL_VARIABLE } from '#test/support/shared-servers.ts'
import { readFamilyCpuUs, readThreadsCpuUs } from '../harness/process-cpu.ts'
import { readRedisTraffic, type RedisTraffic } from '../harness/redis-commands.ts'

export const MODEL = 'demo-chat'

/** An engine that needs 1 ms for a token and almost nothing for a prompt. */
export const ENGINE = {
  files: 'demo',
  maxNumSeqs: 200,
  stepMs: 1,
  sequenceMs: 0,
  prefillTokensPerS: 1_000_000,
} as const

/**
 * The processes whose CPU time counts for a request. The simulator does not count, because it stands for the engine.
 */
export const CHAIN = ['gateway', 'worker', 'redis', 'billing', 'postgres'] as const
export type ChainPart = (typeof CHAIN)[number]

export type Snapshot = {
  readonly cpuUs: Readonly<Record<ChainPart, number>>
  readonly redis: RedisTraffic
}

/** The whole cluster of one checkout, with its own Redis and PostgreSQL. */
export type Side = {
  readonly name: string
  readonly root: string
  readonly baseUrl: string
  readonly apiKey: string
  readonly redisUrl: string
  readonly postgresUrl: string
  snapshot(): Promise<Snapshot>
  stop(): Promise<void>
}

/** Starts the cluster of the checkout at `root`, with the test support of that checkout. */
export async function startSide({ name, root }: { name: string; root: string }): Promise<Side> {
  const url = pathToFileURL(join(root, 'test/support/cluster.ts')).href
  const { startCluster }: typeof import('#test/support/cluster.ts') = await import(url)
  const postgres = await createPostgres()
  process.env[POSTGRES_URL_VARIABLE] = postgres.url('postgres')
  // Log lines for each request, which an operator may turn off, are not measured.
  const cluster = await startCluster({
    logLevel: 'warn',
    workers: [[{ model: MODEL, ...ENGINE }]],
  })
  const { apiKey } = await cluster.createAccount('100000')
  const [gateway] = cluster.gateways
  const [worker] = cluster.workers
  if (gateway === undefined || worker === undefined)
    throw new Error('the cluster has no gateway or no worker')
  return {
    name,
    root,
    baseUrl: cluster.baseUrl,
    apiKey,
    redisUrl: cluster.redis.url,
    postgresUrl: postgres.url('postgres'),
    async snapshot() {
      const redis = await readRedisTraffic(cluster.redis.url)
      return {
        redis,
        cpuUs: {
          gateway: readThreadsCpuUs(gateway.pid),
          worker: readThreadsCpuUs(worker.pid),
          redis: readThreadsCpuUs(cluster.redis.pid()),
          billing: readThreadsCpuUs(cluster.billing.pid),
          postgres: readFamilyCpuUs(postgres.pid()),
        },
      }
    },
    async stop() {
      await cluster.stop()
      await postgres.stop()
    },
  }
}
