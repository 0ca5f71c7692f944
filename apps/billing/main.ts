import { randomUUID } from 'node:crypto'
import { Registry } from '@prometheus-io/client'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { namePlace, toQueueRedis } from '#libs/config/redis-fields.ts'
import { openServerCredentials } from '#libs/grpc/open-credentials.ts'
import { bindGrpc, closeGrpc } from '#libs/grpc/serve-grpc.ts'
import { openTracing } from '#libs/lifecycle/open-tracing.ts'
import { runApp, type AppContext } from '#libs/lifecycle/run-app.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { createAdminServer } from './admin/serve-admin.ts'
import { announcePrices } from './catalog/announce-prices.ts'
import { followModels } from './catalog/follow-models.ts'
import { loadCatalog } from './catalog/load-catalog.ts'
import { BillingConfig } from './config.ts'
import { checkSchema } from './database/check-schema.ts'
import { createDatabaseClock, readDatabaseTimeMs } from './database/database-clock.ts'
import { migrateAs } from './database/migrate-as.ts'
import { createMoney } from './money/money.ts'
import { MONEY_BOUNDS, openPool, SERVICE_ROLE } from './database/open-pool.ts'
import { awaitServiceRights, SCHEMA_RIGHTS } from './database/service-rights.ts'
import { toKysely } from './database/to-kysely.ts'
import { watchReadiness } from './database/watch-readiness.ts'
import { watchVersions } from './database/watch-versions.ts'
import { watchWrites } from './database/watch-writes.ts'
import { createLookUpLane } from './money/lanes/look-up-lane.ts'
import { createMoneyLane } from './money/lanes/money-lane.ts'
import { createMetrics } from './metrics.ts'
import { migrateOnly } from './migrate-only.ts'
import { createReadiness } from './readiness.ts'
import { createReceipts } from './money/receipts.ts'
import { checkBooks } from './books/check-books.ts'
import { createReconcile } from './books/reconcile.ts'
import { createBillingService } from './service.ts'
import { claimCell } from './settlements/claim-cell.ts'
import { runSettlements } from './settlements/run-settlements.ts'
import { createTimingWriter } from './settlements/write-timings.ts'
import { watchQueueStorage } from './watch-queue-storage.ts'
import { watchHolds } from './money/watch-holds.ts'

const LIMITS = {
  databaseCheckMs: 2_000,
  versionPollMs: 5_000,
  clockEveryMs: 5_000,
  callsGraceMs: 3_000,
  claimIdleMs: 30_000,
  readPauseMs: 250,
  gatherMs: 40,
  sweepEveryMs: 1_000,
  idleSweepEveryMs: 15_000,
  booksEveryMs: 15 * 60_000,
  booksCheckMs: 60_000,
  holdsEveryMs: 30_000,
  storageEveryMs: 60_000,
}

const OPERATORS_BOUNDS = { connections: 4, statementMs: 30_000 }

/**
 * Bounds of the pool that serves the operations of callers and writes timings. Its time limit for a statement is 5 s,
 * although a gateway waits at most 2 s for the answer to an operation. The reason is that the pool of the money
 * functions has this limit: behind a pooler the two pools use one login, and a login has only one limit.
 */
const CALLERS_BOUNDS = { ...MONEY_BOUNDS, connections: 4 }

/** To archive a month, one statement may read all of its rows. */
const ARCHIVE_BOUNDS = { connections: 1, statementMs: 10 * 60_000 }

if (process.env['MIGRATE'] === 'only') process.exitCode = await migrateOnly(process.env)
else await runApp({ name: 'billing', schema: BillingConfig, environment: process.env }, serve)

async function serve(context: AppContext<BillingConfig>): Promise<void> {
  const { config, releasers } = context
  const replica = randomUUID()
  const log = context.log.child({ replica })
  const registry = new Registry()
  const tracing = await openTracing('billing', { instance: replica, config, log, releasers })

  const grpcTls = {
    cert: config.GRPC_TLS_CERT_FILE,
    key: config.GRPC_TLS_KEY_FILE,
    clientCa: config.GRPC_TLS_CLIENT_CA_FILE,
  }
  const { credentials } = releasers.add('certificates', await openServerCredentials(grpcTls, { log }), {
    run: ({ close }) => close(),
  })
  const catalog = config.CATALOG_FILE === undefined ? null : await readCatalogFiles(config.CATALOG_FILE)

  // The ops server starts first: billing may wait for the database, or migrate it, for an hour, and the platform must
  // not end the process meanwhile.
  const state = createReadiness()
  const ops = await serveOps({
    app: 'billing',
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: state.readiness,
  })
  releasers.add('ops', ops, { run: closeOps })

  const waiting = {
    log,
    waitMs: Infinity,
    onWait: (reason: string) => state.wait(`waiting for the database: ${reason}`),
  }
  const service = {
    url: config.DATABASE_URL,
    role: SERVICE_ROLE,
    pooler: config.DATABASE_POOLER,
    ...waiting,
  }
  if (config.MIGRATE === 'at-start') {
    await migrateAs({
      url: config.DATABASE_OWNER_URL ?? config.DATABASE_URL,
      ...waiting,
      onConnected: () => state.wait('migrating'),
    })
  }
  const pool = releasers.add('pool', await openPool(service), { run: (pool) => pool.end() })
  state.wait('starting')
  const rights = { pool, log, onWait: state.wait }
  if (config.MIGRATE === 'never') {
    await awaitServiceRights({ ...rights, of: SCHEMA_RIGHTS })
    await checkSchema(pool)
  }
  await awaitServiceRights(rights)
  state.wait('starting')
  const clock = await createDatabaseClock({ pool, everyMs: LIMITS.clockEveryMs, log })
  releasers.add('clock', clock, { run: (clock) => clock.stop() })
  const { nowMs } = clock
  if (catalog !== null) await loadCatalog({ pool, models: catalog, nowMs: nowMs(), log })

  const listenUrl =
    config.DATABASE_POOLER === 'none' ? config.DATABASE_URL : (config.DATABASE_DIRECT_URL ?? null)
  const versions = releasers.add(
    'versions',
    watchVersions({ url: listenUrl, pool, log, pollMs: LIMITS.versionPollMs }),
    { run: (versions) => versions.close() },
  )
  const models = releasers.add('models', await followModels({ pool, versions, log }), {
    run: (models) => models.stop(),
  })
  const writes = watchWrites(() => performance.now())
  const receipts = createReceipts(config.RECEIPT_SECRETS)
  const money = createMoney({
    pool,
    receipts,
    holdGraceMs: config.HOLD_GRACE_MS,
    freeTokensPerHour: config.FREE_TOKENS_PER_HOUR,
    nowMs,
    onCall(call, durationMs, error) {
      metrics.databaseSeconds.observe({ call }, durationMs / 1_000)
      writes.noteFailure(error)
    },
  })
  const lane = createMoneyLane({
    money,
    log,
    monotonicMs: () => performance.now(),
    onBatch: (size) => metrics.batchSize.observe(size),
  })
  const metrics = createMetrics(registry, lane.waiting)

  // Callers have a pool of their own, so that money functions never wait for a connection that a caller's operation
  // uses.
  const callersPool = releasers.add('callers-pool', await openPool({ ...service, bounds: CALLERS_BOUNDS }), {
    run: (pool) => pool.end(),
  })

  // Billing serves reservations without Redis, so it also starts while Redis is unavailable.
  const queuePlace = toQueueRedis(config)
  const redis = openRedis({ place: queuePlace, name: 'billing', patience: 'bounded', log })
  // The cell is claimed before the first settlement is taken and before gateways are served.
  const { host, pathname } = new URL(config.DATABASE_URL)
  const claim = claimCell({
    redis,
    pool: callersPool,
    places: { cell: config.CELL, queue: namePlace(queuePlace), database: host + pathname },
    onLost: context.fail,
    log,
  })
  releasers.add('claim', claim, { run: (claim) => claim.stop() })
  await claim.first((reason) => state.wait(reason))
  state.wait('starting')

  const takeSettlements = () =>
    runSettlements({
      redis,
      consumer: replica,
      money,
      receipts,
      timings: createTimingWriter({ pool: callersPool, nowMs, log }),
      models: models.current,
      metrics,
      tracing,
      log,
      claimIdleMs: LIMITS.claimIdleMs,
      readPauseMs: LIMITS.readPauseMs,
      gatherMs: LIMITS.gatherMs,
      sweepEveryMs: LIMITS.sweepEveryMs,
      idleSweepEveryMs: LIMITS.idleSweepEveryMs,
    })
  const settlements = startOnce(claim.held, {
    start: takeSettlements,
    unstarted: () => redis.disconnect(),
  })
  releasers.add('settlements', settlements, {
    run: async (settlements) => await settlements.stop(),
    limitMs: 10_000,
  })
  const storage = watchQueueStorage({ redis, everyMs: LIMITS.storageEveryMs, metrics, log })
  releasers.add('storage', storage, { run: (stop) => stop() })

  const { server, endStreams } = createBillingService({
    pool,
    callersDb: toKysely(callersPool),
    lane,
    lookUps: createLookUpLane({ pool, nowMs, monotonicMs: () => performance.now() }),
    versions,
    metrics,
    nowMs,
    log,
  })
  releasers.add('grpc', server, {
    async run(server) {
      endStreams()
      await closeGrpc(server, LIMITS.callsGraceMs)
    },
  })
  const grpcPort = await bindGrpc(server, config.GRPC_LISTEN, credentials)

  // Operators have a pool of their own: their queries may take longer, and money functions must not wait for a
  // connection.
  const operatorsPool = releasers.add(
    'operators-pool',
    await openPool({ ...service, bounds: OPERATORS_BOUNDS }),
    { run: (pool) => pool.end() },
  )
  const operatorsDb = toKysely(operatorsPool)
  const archivePool = releasers.add('archive-pool', await openPool({ ...service, bounds: ARCHIVE_BOUNDS }), {
    run: (pool) => pool.end(),
  })
  const books = checkBooks({
    pool: operatorsPool,
    everyMs: LIMITS.booksEveryMs,
    checkMs: LIMITS.booksCheckMs,
    readNowMs: async () => await readDatabaseTimeMs(operatorsPool),
    metrics,
    log,
  })
  releasers.add('books', books, { run: (stop) => stop() })
  const holds = watchHolds({ pool: operatorsPool, everyMs: LIMITS.holdsEveryMs, nowMs, metrics, log })
  releasers.add('holds', holds, { run: (stop) => stop() })
  const prices = announcePrices({ db: operatorsDb, everyMs: LIMITS.versionPollMs, nowMs, log })
  releasers.add('prices', prices, { run: (stop) => stop() })
  const admin = releasers.add(
    'admin',
    createAdminServer({
      db: operatorsDb,
      archiveDb: toKysely(archivePool),
      reconcile: createReconcile(operatorsPool),
      keepMonths: config.KEEP_MONTHS,
      adminToken: config.ADMIN_TOKEN,
      keepAliveTimeoutMs: config.KEEP_ALIVE_TIMEOUT_S * 1_000,
      live: () => ({
        replica,
        watermarkAges: metrics.watermarkAge.ages(),
        moneyCallsWaiting: lane.waiting(),
        deadLetters: metrics.deadLetters.counts(),
      }),
      nowMs,
      log,
    }),
    { run: (admin) => admin.close() },
  )
  const adminAddress = await admin.listen({ host: config.ADMIN_HOST, port: config.ADMIN_PORT })

  const { statementMs } = MONEY_BOUNDS
  const pooled =
    config.DATABASE_POOLER === 'none' ? null : { role: SERVICE_ROLE, statementMs, idleMs: statementMs }
  const database = watchReadiness({ pool, pooled, writes, everyMs: LIMITS.databaseCheckMs, log })
  releasers.add('readiness', database, {
    run(database) {
      database.stop()
      state.wait('stopping')
    },
  })
  state.follow(database.readiness)
  log.info({ grpcPort, adminAddress }, 'billing serves')
}

/**
 * Returns an object with the function `stop`. Calls `start` when `ready` resolves, but not if `stop` was called before
 * that. `stop` calls the function that `start` returned, or `unstarted` if `start` was not called.
 */
function startOnce(
  ready: Promise<void>,
  { start, unstarted }: { start: () => () => Promise<void>; unstarted: () => void },
) {
  let isStopped = false
  let stopStarted = async () => unstarted()
  void ready.then(() => {
    if (!isStopped) stopStarted = start()
  })
  return {
    async stop() {
      isStopped = true
      await stopStarted()
    },
  }
}
