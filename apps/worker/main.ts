import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { BEAT_MS, createPresence } from '#libs/event-bus/presence.ts'
import { createEventPublisher } from '#libs/event-bus/publish-events.ts'
import { subscribeControl } from '#libs/event-bus/worker-control.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { connectRedis, type RedisPatience } from '#libs/redis/connect-redis.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { fetchModelFiles } from '#libs/model-files/fetch-model-files.ts'
import { loadNativeLibrary } from '#libs/tokenizer/encoding/native-encoder.ts'
import { createTokenizer } from '#libs/tokenizer/tokenizer.ts'
import { createChatModel } from './chat-model.ts'
import { createClaimTicket } from './claim-ticket.ts'
import { WorkerConfig } from './config.ts'
import { connectEngine } from './connect-engine.ts'
import { createDeliverVectors } from './embedding/deliver-vectors.ts'
import type { EngineClient } from './engine/engine-client.ts'
import { createRenderPrompt } from './prompt/render-prompt.ts'
import { createThreadedChatRenderer } from './prompt/threaded-chat-renderer.ts'
import { createRunningGenerations } from './running-generations.ts'
import { serveEngine, type ServedEngine, type WorkerServices } from './serve-engine.ts'
import { createServedModels, type LoadProblem } from './served-models.ts'
import { createSettlements } from './settlements.ts'
import { toReadiness } from './to-readiness.ts'
import { createTokenizerCache } from './tokenizer-cache.ts'
import { createWorkerMetrics } from './worker-metrics.ts'

const SETTLE_MS = 5_000
const FETCH_PAUSES = { firstPauseMs: 500, lastPauseMs: 5_000 }

await runApp({ name: 'worker', schema: WorkerConfig, environment: process.env }, async (context) => {
  const { config, releasers } = context
  const worker = randomUUID()
  const log = context.log.child({ worker })
  const nowMs = () => Date.now()
  const registry = new Registry()
  const models = config.WORKERS.map(({ model }) => model)
  const problems = new Map<string, LoadProblem>()
  const engines: ServedEngine[] = []
  const states = () => engines.map((engine) => engine.state())
  // Without it no model can be served, so its absence ends the start.
  await loadNativeLibrary()

  const ops = await serveOps({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: () => toReadiness(models, states(), Array.from(problems.values())),
  })
  releasers.add('ops', ops, { run: closeOps })

  const connect = async (url: string, role: string, patience: RedisPatience) =>
    releasers.add(role, await connectRedis({ url, name: `worker-${role}`, patience, log }), {
      run: (redis) => redis.disconnect(),
    })
  const queueRedis = await connect(config.QUEUE_REDIS_URL, 'queue', 'fail-fast')
  const ticketRedis = await connect(config.QUEUE_REDIS_URL, 'tickets', 'patient')
  const busRedis = await connect(config.BUS_REDIS_URL, 'bus', 'fail-fast')
  const busSubscriber = await connect(config.BUS_REDIS_URL, 'bus-subscriber', 'patient')

  const record = createGenerationRecord({
    redis: queueRedis,
    self: worker,
    graceMs: config.HOLD_GRACE_MS,
    nowMs,
  })
  const claim = createClaimTicket({ record, worker, nowMs, log })
  const settlements = createSettlements({ record, holdGraceMs: config.HOLD_GRACE_MS, nowMs, log })
  const metrics = createWorkerMetrics({ registry, engines: states, pendingSettlements: settlements.pending })

  const presence = await createPresence({
    self: { id: worker, kind: 'worker' },
    engines: states,
    bus: busRedis,
    subscriber: busSubscriber,
    queue: queueRedis,
    onHeartbeat: () => {},
    onDeath: (gateway) => running.stopGateway(gateway),
    nowMs,
    log,
  })
  releasers.add('presence', presence, { run: async () => await presence.stop() })

  const publisher = createEventPublisher({
    redis: busRedis,
    worker,
    onNoSubscriber: (gateway) => presence.suspect(gateway),
    onPublish(events) {
      metrics.frames.inc()
      metrics.events.inc(events)
    },
    log,
  })
  releasers.add('publisher', publisher, { run: async () => await publisher.flush() })

  const running = createRunningGenerations({
    publisher,
    watchGateway: presence.watch,
    unwatchGateway: presence.unwatch,
    nowMs,
  })
  const { deliver: deliverVectors, noteTaken } = createDeliverVectors({ redis: busRedis })
  await subscribeControl({
    subscriber: busSubscriber,
    worker,
    onCancel(gateway, streams) {
      for (const cancelled of streams) running.stopStream(gateway, cancelled)
    },
    onVectorsTaken: noteTaken,
    log,
  })
  const pulse = setInterval(() => running.pulse(), BEAT_MS)
  releasers.add('pulse', pulse, { run: clearInterval })
  releasers.add('settlements', settlements, {
    run: async () => await settlements.drain(),
    limitMs: SETTLE_MS,
  })

  const clients: EngineClient[] = []
  releasers.add('engine clients', clients, {
    run: (opened) => {
      for (const client of opened) client.close()
    },
  })
  releasers.add('engines', engines, {
    run: async (served) => await Promise.all(served.map((engine) => engine.drain(config.DRAIN_GRACE_MS))),
    limitMs: config.DRAIN_GRACE_MS + 10_000,
  })

  const openModel = createServedModels({
    modelsFolder: config.MODELS_DIR,
    toTokenizer: createTokenizerCache(createTokenizer),
    fetchFiles: fetchModelFiles,
    openRenderer: (template) =>
      releasers.add('chat renderer', createThreadedChatRenderer(template, log), {
        run: async (renderer) => await renderer.close(),
      }),
    pauses: FETCH_PAUSES,
    problems,
    log,
  })
  const services: WorkerServices = {
    worker,
    claim,
    running,
    settlements,
    deliverVectors,
    ticketRedis,
    ticketsInHand: new Set(),
    metrics,
    announce: presence.announce,
    nowMs,
    log,
  }
  // Each engine joins as soon as it answers; the others do not wait for it.
  await Promise.all(
    config.WORKERS.map(async ({ model: name, files, engine: address, maxNumSeqs }) => {
      const model = await openModel({ model: name, files, engine: address })
      const { family, tokenizer } = model
      const engine = await connectEngine({ address, maxNumSeqs, family, log: log.child({ model: name }) })
      clients.push(engine.client)
      const chat = createChatModel({ model, renderPrompt: createRenderPrompt(model) })
      const silenceMs = config.ENGINE_SILENCE_MS
      engines.push(serveEngine({ model: { name, tokenizer, chat }, engine, silenceMs, services }))
    }),
  )
  log.info({ engines: config.WORKERS }, 'worker serves')
})
