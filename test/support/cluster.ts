import { randomUUID } from 'node:crypto'
import { createAdminClient, type AdminClient } from '#libs/admin-contract/admin-client.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { APP_USER_SETTING, asAppUser } from './app-user.ts'
import { createBillingDatabase } from './billing-template.ts'
import { freePort } from './free-port.ts'
import { startApp, type RunningApp } from './processes.ts'
import { createRedis, type TestRedis } from './redis.ts'
import { until } from './until.ts'

/** One simulated engine, with a worker on it. Unset fields are the simulator's defaults. */
export type EnginePlan = {
  model: string
  files: string
  kind?: 'chat' | 'embedding'
  maxNumSeqs?: number
  maxModelLen?: number
  kvBlocks?: number
  blockSize?: number
  stepMs?: number
  sequenceMs?: number
  prefillTokensPerS?: number
  maxNumBatchedTokens?: number
  streamInterval?: number
  /**
   * If set, the simulator imitates this servicer. Its engine may not report `maxNumSeqs`, so the worker
   * gets `maxNumSeqs` from its configuration.
   */
  servicerVersion?: '0.26.0+0.8.0' | '0.32.0+0.14.0-rust'
  /** The behaviour of a sandbox model's engine, in place of the demo persona. */
  behaviour?: object
}

export type TestAccount = { id: string; keyId: string; apiKey: string }

export type Balance = { posted: bigint; held: bigint; available: bigint; openHolds: number }

/** Calls about accounts, through billing's operators' interface. */
export type AccountCalls = {
  createAccount(credits: string): Promise<TestAccount>
  /** Gives an account credits. A call that is repeated with its key gives them once. */
  topUp(account: Pick<TestAccount, 'id'>, given: { credits: string; idempotencyKey: string }): Promise<void>
  balance(account: TestAccount): Promise<Balance>
  /** Returns every count of billing's reconciliation; all must be zero. */
  reconcile(): Promise<Record<string, number>>
}

export type TestGateway = RunningApp & { baseUrl: string }

/** A whole cluster of real processes for one test file. No part of it is shared with another file. */
export type TestCluster = AccountCalls & {
  redis: TestRedis
  databaseUrl: string
  adminUrl: string
  /** The address of billing's interface for gateways. */
  billingAddress: string
  admin: AdminClient
  billing: RunningApp
  simulator: RunningApp
  /** The HOST:PORT of each simulated engine, in the order of the plans. */
  engines: readonly string[]
  workers: RunningApp[]
  gateways: TestGateway[]
  baseUrl: string
  /** Starts one more gateway; the cluster stops it. */
  addGateway(env: Record<string, string>): Promise<TestGateway>
  restartBilling(env?: Readonly<Record<string, string>>): Promise<void>
  /** Starts the engines again after the simulator's process has ended. */
  restartSimulator(): Promise<void>
  /** Starts an ended worker again, on the same engines and under the same index. Resolves when it takes work. */
  restartWorker(index: number, env?: Readonly<Record<string, string>>): Promise<void>
  /** Returns the sum of a metric over its labels. */
  metric(app: RunningApp, name: string, labels?: Record<string, string>): Promise<number>
  stop(): Promise<void>
}

export const ADMIN_TOKEN = 'test-admin-token-0123456789'

export async function startCluster(options: {
  gateways?: number
  /** One worker process for each list of engines. */
  workers?: EnginePlan[][]
  gatewayEnv?: Record<string, string>
  workerEnv?: Record<string, string>
  simulatorEnv?: Record<string, string>
  billingEnv?: Record<string, string>
  /** The name by which gateways call billing's machine. */
  billingHost?: string
  /** The log level of every app. */
  logLevel?: string
}): Promise<TestCluster> {
  const plans = options.workers ?? [[{ model: 'demo-chat', files: 'demo' }]]
  // The apps' Redis user has the rights that the documents name and no more, so every test shows that these are enough.
  const redis = await createRedis(APP_USER_SETTING)
  const appUrl = asAppUser(redis.url)
  const database = await createBillingDatabase()
  const logging = { LOG_LEVEL: options.logLevel ?? 'info' }
  const urls = { QUEUE_REDIS_URL: appUrl, BUS_REDIS_URL: appUrl }
  const [grpcPort, adminPort] = [await freePort(), await freePort()]
  const adminUrl = `http://127.0.0.1:${adminPort}`

  const startBilling = (env: Readonly<Record<string, string>> = {}) =>
    startApp('billing', {
      DATABASE_URL: database.url,
      QUEUE_REDIS_URL: appUrl,
      GRPC_LISTEN: `127.0.0.1:${grpcPort}`,
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN,
      RECEIPT_SECRETS: 'test-receipt-secret-of-32-characters',
      CATALOG_FILE: 'deploy/catalog.demo.json',
      ...logging,
      ...options.billingEnv,
      ...env,
    })

  const startWorker = async (
    engines: readonly (EnginePlan & { listen: string })[],
    env: Readonly<Record<string, string>> = {},
  ) =>
    await startApp('worker', {
      ...logging,
      ...urls,
      WORKERS: JSON.stringify(engines.map(toWorkerEngine)),
      ...options.workerEnv,
      ...env,
    })

  const placed = await Promise.all(
    plans.map((engines) =>
      Promise.all(engines.map(async (plan) => ({ ...plan, listen: `127.0.0.1:${await freePort()}` }))),
    ),
  )
  const startSimulator = async () =>
    await startApp('simulator', {
      ...logging,
      SIMULATOR_ENGINES: JSON.stringify(placed.flat()),
      ...options.simulatorEnv,
    })
  const [billing, simulator] = await Promise.all([startBilling(), startSimulator()])
  const workers = await Promise.all(placed.map((engines) => startWorker(engines)))
  const startGateway = async (env: Record<string, string> = {}) => {
    const port = await freePort()
    const app = await startApp('gateway', {
      ...logging,
      ...urls,
      PORT: String(port),
      BILLING_ADDRESS: `${options.billingHost ?? '127.0.0.1'}:${grpcPort}`,
      ...options.gatewayEnv,
      ...env,
    })
    return { ...app, baseUrl: `http://127.0.0.1:${port}/v1` }
  }
  const gateways = await Promise.all(
    Array.from({ length: options.gateways ?? 1 }, async () => await startGateway()),
  )

  const admin = createAdminClient({ url: adminUrl, token: ADMIN_TOKEN })
  const cluster: TestCluster = {
    redis,
    databaseUrl: database.url,
    adminUrl,
    billingAddress: `127.0.0.1:${grpcPort}`,
    admin,
    billing,
    simulator,
    engines: placed.flat().map(({ listen }) => listen),
    workers,
    gateways,
    baseUrl: gateways[0]?.baseUrl ?? '',
    async addGateway(env) {
      const gateway = await startGateway(env)
      cluster.gateways.push(gateway)
      return gateway
    },
    async restartBilling(env) {
      cluster.billing = await startBilling(env)
    },
    async restartSimulator() {
      cluster.simulator = await startSimulator()
    },
    async restartWorker(index, env) {
      const engines = placed[index]
      if (engines === undefined) throw new Error(`there is no worker ${index}`)
      cluster.workers[index] = await startWorker(engines, env)
    },
    ...createAccountCalls(admin),
    async metric(app, name, labels = {}) {
      const text = await (await fetch(`${app.opsUrl}/metrics`)).text()
      return sumMetric(text, name, labels)
    },
    async stop() {
      await Promise.all(cluster.gateways.map((gateway) => gateway.stop()))
      await Promise.all(cluster.workers.map((worker) => worker.stop()))
      await Promise.all([cluster.simulator.stop(), cluster.billing.stop()])
      await redis.stop()
      await database.drop()
    },
  }
  return cluster
}

function toWorkerEngine(plan: EnginePlan & { listen: string }): object {
  const { model, files, listen, servicerVersion, maxNumSeqs } = plan
  return { model, files, engine: listen, ...(servicerVersion !== undefined && { maxNumSeqs }) }
}

export function createAccountCalls(admin: AdminClient): AccountCalls {
  const topUp: AccountCalls['topUp'] = async ({ id }, given) => {
    await admin.call(ADMIN.topUp, { account: id, ...given, reason: 'test' })
  }
  return {
    topUp,
    async createAccount(credits) {
      const { id } = await admin.call(ADMIN.createAccount, { name: 'test' })
      await topUp({ id }, { credits, idempotencyKey: randomUUID() })
      const key = await admin.call(ADMIN.createKey, { account: id, name: 'test' })
      return { id, keyId: key.id, apiKey: key.secret }
    },
    async balance({ id }) {
      const { postedNano, heldNano, availableNano, openHolds } = await admin.call(ADMIN.readAccount, {
        account: id,
      })
      return {
        posted: BigInt(postedNano),
        held: BigInt(heldNano),
        available: BigInt(availableNano),
        openHolds,
      }
    },
    async reconcile() {
      let counts: Record<string, number> = {}
      await until(async () => {
        try {
          const answer = await admin.call(ADMIN.reconcile, {})
          counts = Object.fromEntries(answer.counts.map(({ question, rows }) => [question, rows]))
          return true
        } catch (error) {
          // Billing makes two comparisons at once, and the files of a run may ask for more.
          if (error instanceof Error && error.message.includes('Other comparisons')) return false
          throw error
        }
      }, 60_000)
      return counts
    },
  }
}

/** Returns the sum of a metric over its labels, from the text of /metrics. Throws if there is no such metric. */
export function sumMetric(text: string, name: string, labels: Record<string, string>): number {
  let sum = 0
  let found = false
  for (const line of text.split('\n')) {
    const match = /^(\w+)(\{[^}]*\})? (\S+)/u.exec(line)
    if (match === null || match[1] !== name) continue
    const has = Object.entries(labels).every(([key, value]) => match[2]?.includes(`${key}="${value}"`))
    if (!has) continue
    found = true
    sum += Number(match[3])
  }
  if (!found) throw new Error(`there is no metric ${name} ${JSON.stringify(labels)}`)
  return sum
}
