import { symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createAdminClient } from '#libs/admin-contract/admin-client.ts'
import type { ModelManifest } from '#libs/model-files/model-manifest.ts'
import { createBillingDatabase } from './billing-template.ts'
import { ADMIN_TOKEN, createAccountCalls, type AccountCalls } from './cluster.ts'
import { freePort } from './free-port.ts'
import { startApp, type RunningApp } from './processes.ts'
import { createRedis, type TestRedis } from './redis.ts'
import { scratchFolder } from './run-folder.ts'

/** A model of the cluster, by the id under which it is sold. Without a folder, the engine's own files are used. */
export type EngineClusterModel = {
  readonly id: string
  readonly family: string
  /** A folder with the model's small files. */
  readonly folder?: string | undefined
  /** A Jinja file that replaces the files' chat template. */
  readonly template?: string | undefined
}

export type EngineCluster = AccountCalls & {
  readonly baseUrl: string
  readonly redis: TestRedis
  readonly databaseUrl: string
  readonly gateway: RunningApp
  /** One worker for each engine, and the workers started since. */
  readonly workers: readonly RunningApp[]
  readonly billing: RunningApp
  /** Starts one more worker on the first engine; the cluster stops it. */
  startWorker(): Promise<RunningApp>
  stop(): Promise<void>
}

const CONTEXT_WINDOW = 1_048_576

/**
 * Starts a cluster on engines that are already running, such as a real vLLM. Each engine gets a worker, and runs all
 * models. The catalog gives the models a context window and an output limit of 1,048,576 tokens, so that the engine's
 * own window is the limit. Rejects if an engine's model cannot be loaded.
 */
export async function startEngineCluster(options: {
  /** HOST:PORT of the gRPC service of each engine, at least one. */
  readonly engines: readonly string[]
  readonly models: readonly EngineClusterModel[]
  readonly gatewayEnv?: Readonly<Record<string, string>>
}): Promise<EngineCluster> {
  const [firstEngine] = options.engines
  if (firstEngine === undefined) throw new Error('there is no engine')
  const folder = scratchFolder('models')
  for (const model of options.models) describeModel(folder, model)
  symlinkSync(resolve('models/families'), join(folder, 'families'))
  const catalog = join(folder, 'catalog.txt')
  writeFileSync(catalog, JSON.stringify({ models: options.models.map(toSpec) }))

  const redis = await createRedis()
  const database = await createBillingDatabase()
  const urls = { QUEUE_REDIS_URL: redis.url, BUS_REDIS_URL: redis.url }
  const [grpcPort, adminPort, port] = [await freePort(), await freePort(), await freePort()]
  const billing = await startApp('billing', {
    DATABASE_URL: database.url,
    QUEUE_REDIS_URL: redis.url,
    GRPC_LISTEN: `127.0.0.1:${grpcPort}`,
    ADMIN_PORT: String(adminPort),
    ADMIN_TOKEN,
    RECEIPT_SECRETS: 'test-receipt-secret-of-32-characters',
    CATALOG_FILE: catalog,
  })
  const startWorker = async (engine: string): Promise<RunningApp> =>
    await startApp('worker', {
      ...urls,
      MODELS_DIR: folder,
      WORKERS: JSON.stringify(options.models.map(({ id }) => ({ model: id, files: id, engine }))),
    })
  const workers = await Promise.all(options.engines.map(startWorker))
  const gateway = await startApp('gateway', {
    ...urls,
    PORT: String(port),
    BILLING_ADDRESS: `127.0.0.1:${grpcPort}`,
    ...options.gatewayEnv,
  })
  const admin = createAdminClient({ url: `http://127.0.0.1:${adminPort}`, token: ADMIN_TOKEN })
  return {
    ...createAccountCalls(admin),
    baseUrl: `http://127.0.0.1:${port}/v1`,
    redis,
    databaseUrl: database.url,
    gateway,
    workers,
    billing,
    async startWorker() {
      const worker = await startWorker(firstEngine)
      workers.push(worker)
      return worker
    },
    async stop() {
      await gateway.stop()
      await Promise.all(workers.map((worker) => worker.stop()))
      await billing.stop()
      await redis.stop()
      await database.drop()
    },
  }
}

function describeModel(folder: string, { id, family, folder: files, template }: EngineClusterModel): void {
  const manifest: ModelManifest = {
    family,
    ...(files !== undefined && { folder: `${id}-files` }),
    ...(template !== undefined && { chatTemplate: `${id}.jinja` }),
  }
  writeFileSync(join(folder, `${id}.json`), JSON.stringify(manifest))
  if (files !== undefined) symlinkSync(resolve(files), join(folder, `${id}-files`))
  if (template !== undefined) symlinkSync(resolve(template), join(folder, `${id}.jinja`))
}

function toSpec({ id }: EngineClusterModel): object {
  return {
    id,
    created: 1_764_547_200,
    ownedBy: 'millrace',
    kind: 'chat',
    contextWindow: CONTEXT_WINDOW,
    maxOutputTokens: CONTEXT_WINDOW,
    tools: true,
    reasoning: true,
    defaultEffort: 'off',
    inputPriceNano: '200000000',
    cachedInputPriceNano: '50000000',
    outputPriceNano: '600000000',
    enabled: true,
  }
}
