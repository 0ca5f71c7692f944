import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { toQueueRedis } from '#libs/config/redis-fields.ts'
import { readServerCredentials } from '#libs/grpc/read-credentials.ts'
import { bindGrpc, closeGrpc } from '#libs/grpc/serve-grpc.ts'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { createAdminServer } from './admin/serve-admin.ts'
import { announcePrices } from './catalog/announce-prices.ts'
import { followModels } from './catalog/follow-models.ts'
import { loadCatalog } from './catalog/load-catalog.ts'
import { BillingConfig } from './config.ts'
import { migrate } from './database/migrate.ts'
import { createMoney } from './database/money.ts'
import { openPool, SERVICE_ROLE } from './database/open-pool.ts'
import { toKysely } from './database/tables.ts'
import { watchReadiness } from './database/watch-readiness.ts'
import { watchVersions } from './database/watch-versions.ts'
import { createMoneyLane } from './lanes/money-lane.ts'
import { createMetrics } from './metrics.ts'
import { createReceipts } from './receipts.ts'
import { checkBooks } from './reconciliation/check-books.ts'
import { createReconcile } from './reconciliation/reconcile.ts'
import { createBillingService } from './service.ts'
import { runSettlements } from './settlements/run-settlements.ts'

const LIMITS = {
  databaseWaitMs: 30_000,
  databaseCheckMs: 2_000,
  versionPollMs: 5_000,
  callsGraceMs: 3_000,
  claimIdleMs: 30_000,
  readPauseMs: 250,
  sweepEveryMs: 1_000,
  booksEveryMs: 15 * 60_000,
  booksCheckMs: 60_000,
}

const OPERATORS_BOUNDS = { connections: 4, statementMs: 30_000 }

await runApp({ name: 'billing', schema: BillingConfig, environment: process.env }, async (context) => {
  const { config, releasers } = context
  const replica = randomUUID()
  const log = context.log.child({ replica })
  const nowMs = () => Date.now()
  const registry = new Registry()

  const grpcCredentials = readServerCredentials({
    cert: config.GRPC_TLS_CERT_FILE,
    key: config.GRPC_TLS_KEY_FILE,
    clientCa: config.GRPC_TLS_CLIENT_CA_FILE,
  })
  const catalog = await readCatalogFiles(config.CATALOG_FILE)
  const ownerUrl = config.DATABASE_OWNER_URL ?? config.DATABASE_URL
  const owner = await openPool({ url: ownerUrl, log, waitMs: LIMITS.databaseWaitMs })
  try {
    await migrate(owner, log)
  } finally {
    await owner.end()
  }
  const pool = releasers.add(
    'pool',
    await openPool({
      url: config.DATABASE_URL,
      role: SERVICE_ROLE,
      log,
      waitMs: LIMITS.databaseWaitMs,
    }),
    { run: (pool) => pool.end() },
  )
  await loadCatalog({ pool, models: catalog, nowMs: nowMs(), log })

  const versions = releasers.add(
    'versions',
    watchVersions({ url: config.DATABASE_URL, pool, log, pollMs: LIMITS.versionPollMs }),
    { run: (versions) => versions.close() },
  )
  const models = releasers.add('models', await followModels({ pool, versions, log }), {
    run: (models) => models.stop(),
  })
  const money = createMoney({
    pool,
    receipts: createReceipts(config.RECEIPT_SECRETS),
    holdGraceMs: config.HOLD_GRACE_MS,
    nowMs,
  })
  const lane = createMoneyLane({
    money,
    log,
    monotonicMs: () => performance.now(),
    onBatch: (size) => metrics.batchSize.observe(size),
  })
  const metrics = createMetrics(registry, lane.waiting)

  // Billing serves reservations without Redis, so it starts also while Redis is unavailable.
  const redis = openRedis({ place: toQueueRedis(config), name: 'billing', patience: 'bounded', log })
  const stopSettlements = runSettlements({
    redis,
    consumer: replica,
    money,
    models: models.current,
    metrics,
    log,
    claimIdleMs: LIMITS.claimIdleMs,
    readPauseMs: LIMITS.readPauseMs,
    sweepEveryMs: LIMITS.sweepEveryMs,
  })
  releasers.add('settlements', stopSettlements, { run: (stop) => stop(), limitMs: 10_000 })

  const { server, endStreams } = createBillingService({ pool, lane, versions, metrics, nowMs, log })
  releasers.add('grpc', server, {
    async run(server) {
      endStreams()
      await closeGrpc(server, LIMITS.callsGraceMs)
    },
  })
  const grpcPort = await bindGrpc(server, config.GRPC_LISTEN, grpcCredentials)

  // A pool of its own: operators' queries may take longer, and money must not wait for a connection.
  const operatorsPool = releasers.add(
    'operators-pool',
    await openPool({
      url: config.DATABASE_URL,
      role: SERVICE_ROLE,
      bounds: OPERATORS_BOUNDS,
      log,
      waitMs: LIMITS.databaseWaitMs,
    }),
    { run: (pool) => pool.end() },
  )
  const operatorsDb = toKysely(operatorsPool)
  const books = checkBooks({
    pool: operatorsPool,
    everyMs: LIMITS.booksEveryMs,
    checkMs: LIMITS.booksCheckMs,
    nowMs,
    metrics,
    log,
  })
  releasers.add('books', books, { run: (stop) => stop() })
  const prices = announcePrices({ db: operatorsDb, everyMs: LIMITS.versionPollMs, nowMs, log })
  releasers.add('prices', prices, { run: (stop) => stop() })
  const admin = releasers.add(
    'admin',
    createAdminServer({
      db: operatorsDb,
      reconcile: createReconcile(operatorsPool),
      adminToken: config.ADMIN_TOKEN,
      nowMs,
      log,
    }),
    { run: (admin) => admin.close() },
  )
  const adminAddress = await admin.listen({ host: config.ADMIN_HOST, port: config.ADMIN_PORT })

  const database = releasers.add('readiness', watchReadiness(pool, LIMITS.databaseCheckMs), {
    run: (database) => database.stop(),
  })
  const ops = await serveOps({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: database.readiness,
  })
  releasers.add('ops', ops, { run: closeOps })
  log.info({ grpcPort, adminAddress }, 'billing serves')
})
