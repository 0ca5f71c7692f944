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
import { createLiveCatalog } from './catalog.ts'
import { createClusterPicture } from './cluster-picture/cluster-picture.ts'
import { BODY_THREAD_LIMITS, GatewayConfig, toHttpLimits } from './config.ts'
import { createBodyThread } from './endpoints/body-thread.ts'
import { createAbandon } from './generation/abandon.ts'
import { createAdmit } from './generation/admit.ts'
import { createEnqueue } from './generation/enqueue.ts'
import { createInputEstimate } from './generation/estimate-input.ts'
import { createGenerate } from './generation/generate.ts'
import { createKeepQueued } from './generation/keep-queued.ts'
import { createOpenStream } from './generation/open-stream.ts'
import { createReceiveVectors } from './generation/receive-vectors.ts'
import { createRequeue } from './generation/requeue.ts'
import { createReserve } from './generation/reserve.ts'
import { createStreamMetrics } from './generation/stream-metrics.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { everySecond } from './http/every-second.ts'

/** Every worker sends a heartbeat in this time. */
const PICTURE_COMPLETE_MS = 1.2 * BEAT_MS

await runApp({ name: 'gateway', schema: GatewayConfig, environment: process.env }, async (context) => {
  const { config, releasers } = context
  const gateway = randomUUID()
  const log = context.log.child({ gateway })
  const nowMs = () => Date.now()
  const registry = new Registry()

  const catalog = createLiveCatalog(await readCatalogFiles(config.FALLBACK_CATALOG ?? []))
  const picture = createClusterPicture(nowMs)
  let listening = false
  let pictureCompleteAtMs = Infinity
  const ops = await serveOps({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: () => {
      if (!listening) return { ready: false, reason: 'not listening' }
      if (nowMs() < pictureCompleteAtMs)
        return { ready: false, reason: 'waiting for the heartbeats of workers' }
      return catalog.isLive() ? { ready: true } : { ready: false, reason: 'billing has never been reached' }
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

  const stopStreams = async (worker: string, streams: readonly StreamEpoch[]) => {
    await sendCancel(busRedis, worker, { gateway, streams })
  }
  const inboxes = await subscribeEvents({
    subscriber: busSubscriber,
    gateway,
    onStray(worker, streams) {
      stopStreams(worker, streams).catch((error: unknown) => log.warn({ err: error }, 'cancel not sent'))
    },
    log,
  })
  createStreamMetrics({ registry, openStreams: inboxes.openStreams })
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

  // Until every worker has sent a heartbeat, a served model may look unavailable.
  pictureCompleteAtMs = nowMs() + PICTURE_COMPLETE_MS

  const record = createGenerationRecord({
    redis: queueRedis,
    self: gateway,
    graceMs: config.HOLD_GRACE_MS,
    nowMs,
  })
  const tickets = createTicketQueue(queueRedis)
  releasers.add('tickets', tickets, { run: async () => await tickets.close() })
  const { abandon, releaseHold, drain } = createAbandon({
    record,
    billing,
    stopWorker: async (worker, stream) => await stopStreams(worker, [stream]),
    giveUpAfterMs: config.GENERATION_DEADLINE_MS + config.HOLD_GRACE_MS,
    nowMs,
    log,
  })
  releasers.add('abandoned generations', drain, { run: async () => await drain() })

  const inputEstimate = createInputEstimate()
  const generate = createGenerate({
    admit: createAdmit({
      picture,
      record,
      drainBoundMs: config.DRAIN_BOUND_MS,
      assumedGenerationMs: config.ASSUMED_GENERATION_MS,
      random: Math.random,
    }),
    reserve: createReserve({ billing, inputEstimate, releaseHold }),
    openStream: createOpenStream({
      openInbox: inboxes.open,
      watchWorker: presence.watch,
      unwatchWorker: presence.unwatch,
      limitMs: config.GENERATION_DEADLINE_MS,
    }),
    enqueue: createEnqueue({ record, tickets }),
    keepQueued: createKeepQueued((error) => log.warn({ err: error }, 'enqueueing again failed')),
    requeue: createRequeue({ record, tickets }),
    receiveVectors: createReceiveVectors({ redis: busRedis, gateway }),
    abandon,
    inputEstimate,
    gateway,
    limitMs: config.GENERATION_DEADLINE_MS,
    nowMs,
  })

  const bodyThread = createBodyThread({ limits: BODY_THREAD_LIMITS, log })
  releasers.add('thread for large bodies', bodyThread, { run: async (thread) => await thread.close() })

  const app = buildApp({
    generate,
    authenticate,
    catalog,
    prepareOnThread: bodyThread.prepareOnThread,
    newId: () => randomUUIDv7(),
    nowMs,
    everySecond,
    registry,
    log,
    limits: toHttpLimits(config),
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
