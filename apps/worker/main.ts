import { randomUUID } from 'node:crypto'
import { Registry } from '@prometheus-io/client'
import { BEAT_MS } from '#libs/event-bus/heartbeat.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { scalerKeys } from '#libs/queue-redis/keys.ts'
import { readPrefixSecret } from '#libs/queue-redis/prefix-secret.ts'
import { openTracing } from '#libs/lifecycle/open-tracing.ts'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { fetchModelFiles } from '#libs/model-files/fetch-model-files.ts'
import { loadNativeLibrary } from '#libs/tokenizer/encoding/native-encoder.ts'
import { createPieceCache } from '#libs/tokenizer/encoding/piece-cache.ts'
import { createTokenizer } from '#libs/tokenizer/tokenizer.ts'
import { createChatModel } from './run/chat-model.ts'
import { createClaimGeneration } from './intake/claim-generation.ts'
import { createBuildReport } from './reports/build-report.ts'
import { WorkerConfig } from './config.ts'
import { connectEngine } from './engine-watch/connect-engine.ts'
import { createCordon } from './intake/cordon.ts'
import { countRoom } from './intake/count-room.ts'
import { createDrain } from './intake/drain.ts'
import { createDeliverVectors } from './run/embedding/deliver-vectors.ts'
import type { EngineClient } from './engine/engine-client.ts'
import { createEngineLife } from './engine-watch/engine-life.ts'
import { createEngineMetrics } from './metrics/engine-metrics.ts'
import { createPrefixTenantOf } from './run/cached/prefix-tenant.ts'
import { createPromptThreads } from './prompt/prompt-threads.ts'
import { createCountTokens } from './prompt/count-tokens.ts'
import { createRenderPrompt, type RenderPrompt } from './prompt/render-prompt.ts'
import { toEngineState, type WorkerEngine } from './reports/engine-state.ts'
import { isRefused, openRestartRequest } from './engine-watch/restart-request.ts'
import { openRedisServers } from './open-servers.ts'
import { createRunningGenerations } from './run/running-generations.ts'
import { serveEngine, type WorkerServices } from './serve-engine.ts'
import { createServedModels, type LoadProblem } from './prompt/served-models.ts'
import { createOrphanSettlements } from './run/settled/settle-orphans.ts'
import { createStopSettled } from './run/settled/stop-settled.ts'
import { toReadiness } from './reports/to-readiness.ts'
import { createTokenizerCache } from './prompt/tokenizer-cache.ts'
import { createWorkerBus } from './worker-bus.ts'
import { createWorkerMetrics } from './metrics/worker-metrics.ts'

const SETTLE_MS = 5_000
const FETCH_PAUSES = { firstPauseMs: 500, lastPauseMs: 5_000 }

await runApp({ name: 'worker', schema: WorkerConfig, environment: process.env }, async (context) => {
  const { config, releasers } = context
  const worker = randomUUID()
  const log = context.log.child({ worker })
  // A monotonic clock, because the wall clock of this machine may be wrong or may be changed. It is only for durations.
  const nowMs = () => performance.now()
  const registry = new Registry()
  const tracing = await openTracing('worker', { instance: worker, config, log, releasers })
  const models = config.WORKERS.map(({ model }) => model)
  const problems = new Map<string, LoadProblem>()
  /** The engines of all entries of WORKERS. */
  const engines: WorkerEngine[] = []
  /** The engines that have answered. */
  const served = () => engines.flatMap((engine) => engine.served ?? [])
  const states = () =>
    engines.map((engine) =>
      toEngineState(engine, { draining: drain.isDraining(), cordoned: cordon.isCordoned() }),
    )
  // No model can be served without this library, so the process does not start without it.
  await loadNativeLibrary()

  const drain = createDrain({
    async drainEngines() {
      // Only a worker that stops needs to know where other workers have room.
      const ignoreWorkers = presence.receiveOwnKind()
      try {
        await Promise.all(served().map(async (engine) => await engine.drain(config.DRAIN_GRACE_MS)))
      } finally {
        ignoreWorkers()
      }
    },
    nowMs,
    log,
  })
  const ops = await serveOps({
    app: 'worker',
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    readiness: () => {
      const health = served().map((engine) => ({ model: engine.state().model, ready: engine.isHealthy() }))
      const draining = drain.isDraining()
      return toReadiness(models, health, { problems: Array.from(problems.values()), draining })
    },
    routes: new Map([['/drain', drain.route]]),
  })
  releasers.add('ops', ops, { run: closeOps })

  const { queueRedis, jobsRedis, servers } = await openRedisServers({ config, releasers, log })

  const record = createGenerationRecord({ redis: queueRedis, self: worker, graceMs: config.HOLD_GRACE_MS })
  const { PREFIX_SHARING: sharing } = config
  const prefixTenantOf = createPrefixTenantOf({ sharing, secret: await readPrefixSecret(jobsRedis) })
  const orphans = createOrphanSettlements({ record, worker, log })

  const announce = () => presence.announce()
  const cordon = createCordon({
    onChange() {
      for (const engine of served()) engine.followCordon()
      announce()
    },
    nowMs,
    log,
  })
  releasers.add('cordon', cordon, { run: () => cordon.close() })
  const { presence, publisher, redisOf, subscribe, ...bus } = await createWorkerBus({
    servers,
    worker,
    presence: {
      ttlMs: config.PRESENCE_TTL_MS,
      heartbeat: () => ({
        kind: 'worker',
        id: worker,
        name: config.WORKER_NAME,
        podUid: config.POD_UID ?? null,
        node: config.NODE_NAME ?? null,
        pool: config.POOL ?? null,
        cordonTerm: cordon.term(),
        engines: states(),
      }),
      queue: queueRedis,
      onDeath: (gateway) => running.buryGateway(gateway),
      onCutOff: (gateway) => running.stopGateway(gateway),
      nowMs,
      log,
    },
    publisher: {
      onPublish(events) {
        metrics.frames.inc()
        metrics.events.inc(events)
      },
    },
    nowMs,
    log,
  })
  releasers.add('presence', presence, { run: async () => await presence.stop() })
  releasers.add('publisher', publisher, { run: async () => await publisher.flush() })

  const request =
    config.ENGINE_RESTART_FILE === undefined ? null : await openRestartRequest(config.ENGINE_RESTART_FILE)
  const metrics = createWorkerMetrics({
    registry,
    engines: states,
    pendingSettlements: orphans.pending,
    keptBytes: publisher.keptBytes,
    draining: drain.isDraining,
    drainMs: drain.ms,
  })
  const engineMetrics = createEngineMetrics({ registry, engines: states })
  for (const entry of config.WORKERS) {
    const { model, engine: address } = entry
    const life = createEngineLife({
      request,
      isRefused: async () => await isRefused(address),
      isDraining: drain.isDraining,
      startLimitMs: config.ENGINE_START_LIMIT_MS,
      silenceMs: config.ENGINE_SILENCE_MS,
      onRestart(reason) {
        engineMetrics.noteRestart(model, reason)
        announce()
      },
      onStarted: (ms) => engineMetrics.noteLoad(model, ms),
      nowMs,
      log: log.child({ model }),
    })
    releasers.add('engine life', life, { run: () => life.stop() })
    engines.push({ config: entry, life, served: null, refuses: null })
  }
  announce()

  const buildReport = createBuildReport({
    self: { id: worker, name: config.WORKER_NAME },
    engines,
    pendingSettlements: orphans.pending,
    problemOf: ({ engine }) => problems.get(engine)?.reason ?? null,
  })
  releasers.add('reports', await bus.startReporter(buildReport), { run: (reporter) => reporter.stop() })

  const { claim, isClaiming } = createClaimGeneration({ record, worker, buried: presence.buried, nowMs })
  const running = createRunningGenerations({
    publisher,
    isClaiming,
    isBuried: (gateway) => presence.buried().includes(gateway),
    settleOrphan: orphans.add,
    watchGateway: presence.watch,
    unwatchGateway: presence.unwatch,
    nowMs,
  })
  const { deliver: deliverVectors, noteTaken } = createDeliverVectors({ redisOf, worker })
  /** How prompts are rendered, by the chat models that this worker has loaded. */
  const renderers = new Map<string, RenderPrompt>()
  const countTokens = createCountTokens({ redisOf, find: (model) => renderers.get(model), log })
  await subscribe({
    isHeld: async ({ scaler, holder }) => (await queueRedis.get(scalerKeys(scaler).leader)) === holder,
    onStop: running.stopStreams,
    onResend: (gateway, from) => metrics.resentFrames.inc(publisher.resend(gateway, from)),
    onAsk: running.answer,
    onAcknowledge(gateway, number, settled) {
      publisher.acknowledge(gateway, number)
      running.forgetSettled(gateway, settled)
    },
    onVectorsTaken: noteTaken,
    onHold: running.answerHold,
    onCount: (count) => void countTokens(count),
    onLook(model) {
      for (const engine of served()) if (engine.state().model === model) engine.look()
    },
    onDrain: drain.start,
    onCordon: (term, forMs) => cordon.cordon(term, forMs),
    onUncordon: (term) => cordon.uncordon(term),
  })
  const stopSettled = createStopSettled({
    busAwayMs: presence.busAwayMs,
    live: running.live,
    record,
    log,
  })
  const beat = setInterval(() => {
    running.pulse()
    void stopSettled()
  }, BEAT_MS)
  releasers.add('beat', beat, { run: clearInterval })
  releasers.add('settlements', orphans, { run: async () => await orphans.drain(), limitMs: SETTLE_MS })

  const clients: EngineClient[] = []
  releasers.add('engine clients', clients, {
    run: (opened) => {
      for (const client of opened) client.close()
    },
  })
  const promptThreads = createPromptThreads(log)
  releasers.add('prompt threads', promptThreads, { run: async (threads) => await threads.close() })
  // The engines are released first: their runs need all other resources until they have ended.
  releasers.add('engines', engines, {
    async run() {
      await drain.untilDrained()
      for (const engine of served()) engine.stop()
    },
    limitMs: config.DRAIN_GRACE_MS + 10_000,
  })

  const openModel = createServedModels({
    modelsFolder: config.MODELS_DIR,
    toTokenizer: createTokenizerCache((json) =>
      createTokenizer(json, {
        cache: createPieceCache(config.PROMPT_CACHE_BYTES),
        note: metrics.notePromptTexts,
        wrapEncoder: promptThreads.wrapEncoder,
      }),
    ),
    fetchFiles: fetchModelFiles,
    openRenderer: promptThreads.openRenderer,
    pauses: FETCH_PAUSES,
    problems,
    log,
  })
  const services: WorkerServices = {
    worker,
    tracing,
    claim,
    running,
    deliverVectors,
    jobsRedis,
    prefixTenantOf,
    roomElsewhere: (model) => countRoom(presence.peers(), model),
    metrics,
    engineMetrics,
    isCordoned: cordon.isCordoned,
    announce,
    nowMs,
    log,
  }
  // Each engine joins as soon as it answers; the others do not wait for it.
  await Promise.all(
    engines.map(async (place) => {
      const { model: name, files, engine: address, maxNumSeqs } = place.config
      const model = await openModel({ model: name, files, engine: address })
      const { family, tokenizer } = model
      place.refuses = model.refuses
      const engine = await connectEngine({
        address,
        maxNumSeqs,
        onDead: place.life.noteDead,
        servesLossy: config.ENGINES_THAT_LOSE_TOKENS === 'serve',
        family,
        log: log.child({ model: name }),
      })
      clients.push(engine.client)
      const renderPrompt = createRenderPrompt(model)
      const chat = createChatModel({ model, renderPrompt })
      renderers.set(name, renderPrompt)
      const joined = serveEngine({
        model: { name, tokenizer, chat },
        engine,
        life: place.life,
        silenceMs: config.ENGINE_SILENCE_MS,
        prefillTokens: config.PREFILL_TOKENS,
        services,
      })
      place.served = joined
      // The worker has begun to drain before this engine joined.
      if (drain.isDraining()) await joined.drain(0)
    }),
  )
  log.info({ engines: config.WORKERS }, 'worker serves')
})
