import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { Registry } from 'prom-client'
import { hashApiKey, isWellFormedApiKey } from '#libs/api-key/api-key.ts'
import { createBillingClient } from '#libs/billing-client/billing-client.ts'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { BEAT_MS, createPresence } from '#libs/event-bus/presence.ts'
import { subscribeEvents } from '#libs/event-bus/subscribe-events.ts'
import { sendCancel, type StreamEpoch } from '#libs/event-bus/worker-control.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { readChannelCredentials } from '#libs/grpc/read-credentials.ts'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { connectRedis, type RedisPatience } from '#libs/redis/connect-redis.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { createTicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import { buildApp } from './app.ts'
import { createClusterPicture } from './cluster-picture/cluster-picture.ts'
import { GatewayConfig } from './config.ts'
import { createAbandon } from './generation/abandon.ts'
import { createAdmit } from './generation/admit.ts'
import { createDispatch } from './generation/dispatch.ts'
import { createInputEstimate } from './generation/estimate-input.ts'
import { createGenerate } from './generation/generate.ts'
import { createKeepQueued } from './generation/keep-queued.ts'
import { createReserve } from './generation/reserve.ts'
import { createReceiveVectors } from './generation/receive-vectors.ts'
import { createGatewayMetrics } from './gateway-metrics.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { everySecond } from './http/every-second.ts'
import { createLiveCatalog } from './live-catalog.ts'
import { createBodyThread } from './preparation/body-thread.ts'
import { createPrepareBody } from './preparation/prepare-body.ts'

const LIMITS = {
  bodyBytes: 32 * 1024 * 1024,
  largeBodyBytes: 64 * 1024,
  allBodiesBytes: 128 * 1024 * 1024,
  uploadMs: 60_000,
  headersAfterS: 10,
  keepAliveS: 10,
  queuedBytes: 1024 * 1024,
  lastReadS: 30,
}
const BODY_THREAD = { waiting: 256, taskMs: 15_000, heapMib: 512 }
const ABANDON_MS = 5_000
const HEAR_EVERYBODY_MS = 1.2 * BEAT_MS

await runApp({ name: 'gateway', schema: GatewayConfig, environment: process.env }, async (context) => {
  const { config, releasers } = context
  const gateway = randomUUID()
  const log = context.log.child({ gateway })
  const nowMs = () => Date.now()
  const registry = new Registry()

  const catalog = createLiveCatalog(await readCatalogFiles(config.FALLBACK_CATALOG ?? []))
  const picture = createClusterPicture(nowMs)
  let listening = false
  let pictureCompleteMs = Infinity
  const ops = await serveOps({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: () => {
      if (!listening) return { ready: false, reason: 'not listening' }
      if (nowMs() < pictureCompleteMs) return { ready: false, reason: 'not every worker was heard yet' }
      return catalog.isLive() ? { ready: true } : { ready: false, reason: 'billing was never reached' }
    },
  })
  releasers.add('ops', ops, { run: closeOps })

  const connect = async (url: string, role: string, patience: RedisPatience) =>
    releasers.add(role, await connectRedis({ url, name: `gateway-${role}`, patience, log }), {
      run: (redis) => redis.disconnect(),
    })
  const queueRedis = await connect(config.QUEUE_REDIS_URL, 'queue', 'fail-fast')
  const busRedis = await connect(config.BUS_REDIS_URL, 'bus', 'fail-fast')
  const busSubscriber = await connect(config.BUS_REDIS_URL, 'bus-subscriber', 'patient')

  const billing = createBillingClient({
    address: config.BILLING_ADDRESS,
    credentials: readChannelCredentials({
      ca: config.BILLING_TLS_CA_FILE,
      cert: config.BILLING_TLS_CERT_FILE,
      key: config.BILLING_TLS_KEY_FILE,
    }),
    log,
  })
  releasers.add('billing', billing, { run: () => billing.close() })
  const { authenticate, applyKeyChanges } = createAuthenticate({
    lookUpKey: billing.lookUpKey,
    hashApiKey,
    isWellFormedApiKey,
    nowMs,
  })
  billing.watchKeys({ onChanges: applyKeyChanges })
  billing.watchCatalog({ onCatalog: catalog.replace, onState: () => {} })

  const tellWorker = async (worker: string, streams: readonly StreamEpoch[]) => {
    await sendCancel(busRedis, worker, { gateway, streams })
  }
  const inboxes = await subscribeEvents({
    subscriber: busSubscriber,
    gateway,
    onStray(worker, streams) {
      tellWorker(worker, streams).catch((error: unknown) => log.warn({ err: error }, 'cancel not sent'))
    },
    log,
  })
  createGatewayMetrics({ registry, openStreams: inboxes.openStreams })
  const presence = await createPresence({
    self: { id: gateway, kind: 'gateway' },
    engines: () => [],
    bus: busRedis,
    subscriber: busSubscriber,
    queue: queueRedis,
    onHeartbeat: picture.applyHeartbeat,
    onDeath(worker) {
      picture.forgetWorker(worker)
      inboxes.failWorker(worker, 'its worker died')
    },
    nowMs,
    log,
  })
  releasers.add('presence', presence, { run: async () => await presence.stop() })

  // Every worker beats once a second: before, a model that is served could look unavailable.
  pictureCompleteMs = nowMs() + HEAR_EVERYBODY_MS

  const record = createGenerationRecord({
    redis: queueRedis,
    self: gateway,
    graceMs: config.HOLD_GRACE_MS,
    nowMs,
  })
  const tickets = createTicketQueue(queueRedis)
  releasers.add('tickets', tickets, { run: async () => await tickets.close() })
  const abandon = createAbandon({
    record,
    billing,
    tellWorker: async (worker, cancelled) => await tellWorker(worker, [cancelled]),
    giveUpAfterMs: config.GENERATION_DEADLINE_MS + config.HOLD_GRACE_MS,
    nowMs,
    log,
  })
  releasers.add('abandoned generations', abandon, {
    run: async () => await abandon.drain(),
    limitMs: ABANDON_MS,
  })

  const inputEstimate = createInputEstimate()
  const reserve = createReserve({ billing, inputEstimate, release: (id) => abandon.release(id) })
  const generate = createGenerate({
    admit: createAdmit({
      picture,
      record,
      drainBoundMs: config.DRAIN_BOUND_MS,
      assumedGenerationMs: config.ASSUMED_GENERATION_MS,
      random: Math.random,
    }),
    reserve,
    dispatch: createDispatch({ record, tickets, reserve }),
    keepQueued: createKeepQueued((error) => log.warn({ err: error }, 'not queued again')),
    receiveVectors: createReceiveVectors({ redis: busRedis, gateway }),
    abandon,
    openInbox: inboxes.open,
    watchWorker: presence.watch,
    unwatchWorker: presence.unwatch,
    learnInput: (call, promptTokens) => inputEstimate.learn(call.model.id, call.request, promptTokens),
    gateway,
    limitMs: config.GENERATION_DEADLINE_MS,
    nowMs,
  })

  const thread = createBodyThread({ limits: BODY_THREAD, log })
  releasers.add('thread for large bodies', thread, { run: async () => await thread.close() })

  const app = buildApp({
    generate,
    authenticate,
    catalog,
    prepareBody: createPrepareBody({ thread, largeBytes: LIMITS.largeBodyBytes }),
    newId: () => randomUUIDv7(),
    nowMs,
    everySecond,
    registry,
    log,
    limits: { ...LIMITS, connectionIdleMs: config.GENERATION_DEADLINE_MS + LIMITS.uploadMs },
  })
  await app.listen({ host: config.HOST, port: config.PORT })
  listening = true
  releasers.add('http', app, {
    async run() {
      listening = false
      await app.close()
    },
    limitMs: config.DRAIN_GRACE_MS,
  })
  log.info({ host: config.HOST, port: config.PORT }, 'gateway listens')
})
