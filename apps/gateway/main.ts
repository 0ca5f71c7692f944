import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { hostname } from 'node:os'
import { Registry } from '@prometheus-io/client'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { createPresence } from '#libs/event-bus/presence.ts'
import { subscribeEvents } from '#libs/event-bus/subscribe-events.ts'
import { readVectors } from '#libs/event-bus/vectors.ts'
import { createControlSender } from '#libs/event-bus/worker-control.ts'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { readPrefixSecret } from '#libs/queue-redis/prefix-secret.ts'
import { createJobQueue } from '#libs/job-queue/job-queue.ts'
import { openTracing } from '#libs/lifecycle/open-tracing.ts'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { buildApp } from './app.ts'
import { createAuthentication } from './callers/authentication.ts'
import { createLiveCatalog } from './catalog.ts'
import { createClusterPicture } from './demand/cluster-picture.ts'
import { GatewayConfig, toAdmissionBounds, toBodyThreadLimits, toHttpLimits } from './config.ts'
import { createLoadSignals } from './demand/load-signals.ts'
import { createBodyThreads } from './endpoints/body-threads.ts'
import { createAdmission } from './generation/create-admission.ts'
import { createAskForReport } from './generation/settle/ask-for-report.ts'
import { createCountTokens } from './generation/count-tokens.ts'
import { createHolds } from './generation/create-holds.ts'
import { createDispatch } from './generation/dispatch/dispatch.ts'
import { createEndGeneration } from './generation/settle/end-generation.ts'
import { createExpectCost } from './generation/estimates/expected-cost.ts'
import { createGenerate } from './generation/generate.ts'
import { createGenerationMetrics } from './generation/measure/generation-metrics.ts'
import { createEndAllStreams } from './generation/settle/end-all-streams.ts'
import { createObserve } from './generation/measure/observe.ts'
import { createOpenRun } from './generation/generation-run.ts'
import { createOpenStream } from './generation/output/open-stream.ts'
import { openAffinity } from './generation/dispatch/affinity.ts'
import { createResumeLimiter } from './generation/dispatch/resume-limiter.ts'
import { createPoisonBound } from './generation/admission/poison-bound.ts'
import { createReceiveVectors } from './generation/receive-vectors.ts'
import { createRecovery } from './generation/recovery.ts'
import { createSettlements } from './generation/settle/settlements.ts'
import { createStreamCounters, createStreamGauges } from './generation/measure/stream-metrics.ts'
import { everySecond } from './http/every-second.ts'
import { openBilling, openQueueClock, openRedisServers } from './servers/open-servers.ts'
import { createReadiness } from './servers/readiness.ts'
import { createRedisMetrics } from './servers/redis-metrics.ts'
import { openReports } from './reports/open-reports.ts'

/**
 * How long a stopping gateway waits for streams that did not end within the drain grace, so that their errors are sent.
 */
const LAST_ERRORS_MS = 2_000
/** How long a stopping gateway waits for the answers to its settlements. */
const SETTLE_MS = 5_000
/**
 * After the answers to its settlements, a stopping gateway waits this long for billing to commit the settlements. That
 * takes one to three seconds.
 */
const COMMIT_MS = 4_000

await runApp({ name: 'gateway', schema: GatewayConfig, environment: process.env }, async (context) => {
  const { config, releasers } = context
  const gateway = randomUUID()
  const log = context.log.child({ gateway })
  const opening = { config, releasers, log }
  const nowMs = () => performance.now()
  const registry = new Registry()
  const tracing = await openTracing('gateway', { instance: gateway, config, log, releasers })

  const catalog = createLiveCatalog(await readCatalogFiles(config.FALLBACK_CATALOG ?? []))
  const picture = createClusterPicture(nowMs)
  const readiness = createReadiness({ knowsBilling: catalog.isLive, nowMs })
  const ops = await serveOps({
    app: 'gateway',
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: readiness.read,
  })
  releasers.add('ops', ops, { run: closeOps })

  const redisMetrics = createRedisMetrics(registry)
  const { queueRedis, busRedis, busSubscriber } = await openRedisServers(opening, {
    gateway,
    metrics: redisMetrics,
    onQueue: () => readiness.enter('waiting for the bus Redis'),
  })
  const busServer = { bus: busRedis, subscriber: busSubscriber }
  const billing = await openBilling(opening)
  billing.watchCatalog({ onCatalog: catalog.replace, onState: () => {} })

  const metrics = createStreamCounters(registry)
  const control = createControlSender({
    redis: busRedis,
    gateway,
    onNoSubscriber: (worker) => presence.suspect(worker),
    log,
  })
  const inboxes = await subscribeEvents({
    subscriber: busSubscriber,
    gateway,
    control: {
      ...control,
      async resend(worker, from) {
        metrics.resends.inc()
        return await control.resend(worker, from)
      },
    },
    onLate: (events) => metrics.lateEvents.inc(events),
    isLoopLate: () => signals.isLate(),
    log,
  })
  const signals = await createLoadSignals({
    ...busServer,
    gateway,
    openStreams: inboxes.openStreams,
    nowMs,
    log,
  })
  const { demand, modelStates } = releasers.add('load signals', signals, { run: () => signals.close() })

  const presence = await createPresence({
    ttlMs: config.PRESENCE_TTL_MS,
    heartbeat: () => ({ kind: 'gateway', id: gateway, name: hostname() }),
    ...busServer,
    queue: queueRedis,
    onHeartbeat: picture.applyHeartbeat,
    onDeath(worker) {
      picture.forgetWorker(worker)
      inboxes.loseWorker(worker, 'worker-dead')
    },
    // The worker runs, but its events do not arrive.
    onCutOff: (worker) => inboxes.loseWorker(worker, 'frames-lost'),
    nowMs,
    log,
  })
  releasers.add('presence', presence, { run: async () => await presence.stop() })

  readiness.listensToWorkers()

  const record = createGenerationRecord({ redis: queueRedis, self: gateway, graceMs: config.HOLD_GRACE_MS })
  readiness.enter('waiting for the queue Redis')
  const queueClock = await openQueueClock(record.redisTimeMs, log)
  readiness.enter('starting')
  const affinity = openAffinity(config.PREFIX_AFFINITY, { redis: queueRedis, picture, log })
  const jobs = createJobQueue({ redis: queueRedis, countWaiting: createCountWaiting(queueRedis) })
  releasers.add('jobs', jobs, { run: async () => await jobs.close() })
  const settlements = createSettlements({
    record,
    billing,
    nowMs,
    queueClock,
    holdGraceMs: config.HOLD_GRACE_MS,
    log,
  })
  releasers.add('settlements', settlements, {
    async run() {
      await settlements.drain()
      await settlements.untilCommitted(COMMIT_MS)
    },
    limitMs: SETTLE_MS + COMMIT_MS,
  })

  createStreamGauges({
    registry,
    openStreams: inboxes.openStreams,
    settlements: settlements.counts,
    settlementsFill: settlements.fill,
    busAwayMs: presence.busAwayMs,
    models: catalog.list,
    waitingBytesOf: record.waitingBytes,
  })
  const ends = createEndAllStreams({ busAwayMs: presence.busAwayMs, loseAll: inboxes.loseAll })
  const poisonBound = createPoisonBound({ redis: queueRedis, redisNowMs: queueClock.nowMs, log })
  const stopTicking = everySecond(() => {
    inboxes.tick()
    ends.tick()
    settlements.tick().catch((error: unknown) => log.warn({ err: error }, 'settlements were not reviewed'))
    queueClock.sync().catch(() => undefined)
    poisonBound.tick().catch(() => undefined)
    signals.tick()
    redisMetrics.tick()
  })
  releasers.add('ticker', stopTicking, { run: (stop) => stop() })

  const { book, reporter } = await openReports({
    server: busServer,
    gateway,
    models: catalog.list,
    pendingSettlements: () => settlements.counts().unanswered,
    nowMs,
    log,
  })
  releasers.add('reports', reporter, { run: () => reporter.stop() })

  const { suspectShortage, ...authentication } = createAuthentication({ billing, nowMs, wallClockMs })
  const { reserve, stopWaits, ...holds } = createHolds({
    billing,
    releaseHold: settlements.releaseHold,
    toQueueMs: queueClock.toQueueMs,
    onShortage: suspectShortage,
    creditWaitMs: config.CREDIT_WAIT_MS,
    control,
    nowMs,
    metrics,
    log,
  })
  const generate = createGenerate({
    admit: createAdmission({
      ...toAdmissionBounds(config),
      isSold: catalog.isSold,
      picture,
      signals,
      isBarred: poisonBound.isBarred,
      settlementsFull: settlements.isFull,
      expectCost: createExpectCost(holds),
      random: Math.random,
      registry,
      nowMs,
    }),
    reserve,
    openRun: createOpenRun({
      openStream: createOpenStream({ openInbox: inboxes.open, limitMs: config.GENERATION_DEADLINE_MS }),
      dispatch: createDispatch({
        record,
        jobs,
        picture,
        modelStates,
        demand,
        resumeLimiter: createResumeLimiter(),
        sendLook: control.look,
        onHomeWaitEnd: metrics.noteHomeWait,
        noWorkerLimitMs: config.NO_WORKER_LIMIT_MS,
        nowMs,
        bounds: { accountBytes: config.QUEUED_BYTES / 4, modelBytes: config.QUEUED_BYTES },
        watchWorker: presence.watch,
        unwatchWorker: presence.unwatch,
        log,
      }),
      recovery: createRecovery({ reserve, picture, metrics, poisonBound, log }),
      askForReport: createAskForReport({ claimant: record.claimant, stop: control.stop }),
      endGeneration: createEndGeneration({
        settlements,
        stopWorker: (worker, stream) => void control.stop(worker, [stream]),
        streamSettled: inboxes.settled,
      }),
      openSeating: affinity.open,
      ...holds,
      gateway,
      nowMs,
      showsCost: config.USAGE_COST === 'on',
    }),
    receiveVectors: createReceiveVectors({
      readVectors: async (key, shape) => await readVectors(busRedis, key, shape),
      gateway,
      sendTaken: control.vectorsTaken,
    }),
    observe: createObserve({ metrics: createGenerationMetrics(registry), demand, book, nowMs }),
    limitMs: config.GENERATION_DEADLINE_MS,
    nowMs,
  })

  const bodyThreads = createBodyThreads({ limits: toBodyThreadLimits(config), log })
  releasers.add('threads for bodies', bodyThreads, { run: async (threads) => await threads.close() })

  const countTokens = await createCountTokens({
    ...busServer,
    gateway,
    workersOf: picture.workersOf,
    sendCount: control.count,
    newId: randomUUID,
    random: Math.random,
    log,
  })

  const { app, drain } = buildApp({
    generate,
    countTokens,
    ...authentication,
    askAccount: billing.askAccount,
    catalog,
    callFormatOf: picture.callFormatOf,
    prepareOnThread: bodyThreads.prepareOnThread,
    hasSeats: affinity.hasSeats,
    reasoningSecrets: config.REASONING_SECRETS ?? [await readPrefixSecret(queueRedis)],
    newId: () => randomUUIDv7(),
    nowMs,
    wallClockMs,
    everySecond,
    registry,
    tracing,
    log,
    limits: toHttpLimits(config),
    hasAccountPage: config.ACCOUNT_PAGE === 'on',
    allowedOrigins: config.CORS_ORIGINS,
    takesWork: () => readiness.read().ready,
  })
  await app.listen({ host: config.HOST, port: config.PORT })
  readiness.enter('serving')
  releasers.add('http', app, {
    async run() {
      readiness.enter('stopping')
      stopWaits()
      // Generations that have not ended after the grace time end with an error, which is better for clients than a cut
      // connection.
      setTimeout(ends.stop, config.DRAIN_GRACE_MS).unref()
      await drain()
      await app.close()
    },
    limitMs: config.DRAIN_GRACE_MS + LAST_ERRORS_MS,
  })
  log.info({ host: config.HOST, port: config.PORT }, 'gateway listens')
})
