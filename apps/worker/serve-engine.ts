import type { Cluster, Redis } from 'ioredis'
import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import { createJobPull } from '#libs/job-queue/pull-jobs.ts'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Span } from '#libs/telemetry/span.ts'
import type { Tracing } from '#libs/telemetry/tracing.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { ChatModel } from './run/chat-model.ts'
import type { ClaimGeneration } from './intake/claim-generation.ts'
import type { ConnectedEngine } from './engine-watch/connect-engine.ts'
import { createEffectiveSlots } from './engine-watch/effective-slots.ts'
import type { DeliverVectors } from './run/embedding/deliver-vectors.ts'
import { createEmbedInputs } from './run/embedding/embed-inputs.ts'
import { createFairLimit } from '#libs/fair-share/fair-limit.ts'
import { createTokenizeInputs } from './run/embedding/tokenize-inputs.ts'
import { createEndRun } from './run/end-run.ts'
import type { EngineLife } from './engine-watch/engine-life.ts'
import type { EngineMetrics } from './metrics/engine-metrics.ts'
import { createHandOver } from './intake/hand-over.ts'
import { createCallMeter, measureEmbed } from './run/measure/measure-calls.ts'
import { createClaimInRoom } from './run/room/claim-in-room.ts'
import { createPrefills } from './run/room/prefills.ts'
import { createQuarantine } from './run/room/quarantine.ts'
import type { PrefixTenantOf } from './run/cached/prefix-tenant.ts'
import { createProcessGeneration, type UnreadClaim } from './process-generation.ts'
import { createPull } from './intake/pull.ts'
import { createRunChat } from './run/run-chat.ts'
import { createRunEmbedding } from './run/run-embedding.ts'
import { createRunTotals } from './run/measure/run-totals.ts'
import type { ClaimedGeneration, RunningGeneration } from './run/running-generation.ts'
import type { RunningGenerations } from './run/running-generations.ts'
import { createSentPrefixes } from './run/cached/sent-prefixes.ts'
import { createSlots } from './intake/slots.ts'
import { createEngineWatch } from './engine-watch/watch-engine.ts'
import { createLoadWatch } from './engine-watch/watch-load.ts'
import type { WorkerMetrics } from './metrics/worker-metrics.ts'

/**
 * The service of one engine: pulls as many generations as the engine can run, runs them, and stops in an orderly way.
 */
export type ServedEngine = {
  /** Returns all of the engine's state except its phase, which depends on the whole worker. */
  state(): Omit<EngineState, 'phase' | 'loadingMs'>
  /** Returns whether the engine is ready, even if this worker does not pull for it. */
  isHealthy(): boolean
  /** Call it when the cordon has begun or ended. */
  followCordon(): void
  /** Claims a generation if there is a free slot. */
  look(): void
  /** Stops pulling at once, and hands back runs that cannot end within `graceMs`; resolves when nothing runs. */
  drain(graceMs: number): Promise<void>
  stop(): void
}

/** The services that all engines of this process share. */
export type WorkerServices = {
  readonly worker: string
  readonly claim: ClaimGeneration
  readonly running: RunningGenerations
  readonly deliverVectors: DeliverVectors
  readonly jobsRedis: Redis | Cluster
  readonly prefixTenantOf: PrefixTenantOf
  /**
   * Returns the number of free slots that the other ready workers have for a model. The number is known only while this
   * worker drains; before that it is 0.
   */
  readonly roomElsewhere: (model: string) => number
  readonly metrics: WorkerMetrics
  readonly engineMetrics: EngineMetrics
  readonly tracing: Tracing
  readonly isCordoned: () => boolean
  /** Publishes a heartbeat at once. */
  readonly announce: () => void
  readonly nowMs: () => number
  readonly log: Logger
}

/** The features of a worker of this version, by the kind of its model. */
const FEATURES = {
  chat: ['chat', 'continue', 'logprobs', 'raw-prompt'],
  embedding: ['embedding'],
} as const

/** Serves one model with one engine; pulling starts as soon as the engine is healthy. */
export function serveEngine(deps: {
  model: { readonly name: string; readonly tokenizer: Tokenizer; readonly chat: ChatModel }
  engine: ConnectedEngine
  life: Pick<EngineLife, 'noteSign' | 'noteReady' | 'awaitsRestart'>
  /** An engine that runs generations but gives no token for this long is considered hung. */
  silenceMs: number
  /** See `createPrefills`. */
  prefillTokens: number
  services: WorkerServices
}): ServedEngine {
  const { model, life, silenceMs, prefillTokens, services } = deps
  const { client: engine, maxNumSeqs, contextWindow, vocabularySize, release, kind } = deps.engine
  const { worker, running, metrics, engineMetrics, isCordoned, announce, nowMs } = services
  const log = services.log.child({ model: model.name })
  const operation = kind === 'chat' ? 'chat' : 'embeddings'
  const meter = createCallMeter({ histograms: engineMetrics.calls, model: model.name, operation, nowMs })
  const prefills = createPrefills(prefillTokens, () => pull.look())
  const slots = createSlots(maxNumSeqs)
  const quarantine = createQuarantine({ nowMs, onRoom: () => pull.look() })
  const live = new ShortLivedSet<RunningGeneration>()
  const runs = createRunTotals(() => live)
  let stopping = false

  const watch = createEngineWatch({
    healthCheck: engine.healthCheck,
    running: () => live.size,
    silenceMs,
    onSign: life.noteSign,
    mayBeReady: () => !life.awaitsRestart(),
    onChange(ready) {
      life.noteReady(ready)
      if (!stopping) follow()
    },
    onLost() {
      const suspect = quarantine.judge(live, watch.lastTokenMs())
      log.warn({ running: live.size, requestId: suspect?.job.id }, 'the engine is lost')
      for (const run of live) run.stop('engine-lost')
    },
    nowMs,
    log,
  })
  /**
   * Returns the reason why a claimed generation must be handed back; null if it may run. The engine may have died while
   * the claim was under way.
   */
  function whyNotRun(): 'worker-stopping' | 'engine-lost' | null {
    if (stopping) return 'worker-stopping'
    return watch.ready() ? null : 'engine-lost'
  }
  const pulls = () => whyNotRun() === null && !isCordoned() && !pull.isPaused()

  const effectiveSlots = createEffectiveSlots(maxNumSeqs)
  const loads = createLoadWatch({
    getLoads: engine.getLoads,
    isAsked: watch.ready,
    onLoad: (load) => slots.resize(effectiveSlots.note(load, live.size)),
    log,
  })

  const claim = createClaimInRoom({
    features: FEATURES[kind],
    prefills: kind === 'chat' ? prefills : null,
    quarantine,
    claim: async (features) => await services.claim(model.name, { features, window: contextWindow }),
    look: () => pull.look(),
  })

  const processGeneration = createProcessGeneration({
    claim,
    open,
    hasHad: ({ job, epoch }) => running.hasHad(job, epoch),
    giveBack,
    whyNotRun,
    runChat: createRunChat({
      worker,
      model: model.chat,
      engine,
      contextWindow,
      vocabularySize,
      prefixTenantOf: services.prefixTenantOf,
      sentPrefixes: createSentPrefixes(),
      prefills,
      quarantine,
      watch,
      meter,
      onReplay(tokens) {
        metrics.continued.inc({ model: model.name })
        metrics.replayedTokens.inc({ model: model.name }, tokens)
      },
      onMoneyEnd: () => metrics.moneyEnds.inc({ model: model.name }),
    }),
    runEmbedding: createRunEmbedding({
      worker,
      tokenizeInputs: createTokenizeInputs(model.tokenizer),
      embedInputs: createEmbedInputs({
        embed: measureEmbed(engine.embed, meter),
        // The engine runs at most `maxNumSeqs` inputs at once. The slots bound only the number of generations, each of
        // which may have many inputs, so this limit bounds the inputs.
        limit: createFairLimit(maxNumSeqs),
        deliver: services.deliverVectors,
      }),
      contextWindow,
      quarantine,
      watch,
    }),
    endRun: createEndRun({
      watch,
      onHandBack: (reason) => metrics.noteHandBack(model.name, reason),
      log,
    }),
  })

  const pull = createPull({
    takeNext: processGeneration,
    slots,
    mayPull: () => pulls() && watch.mayPull(),
    jobs: createJobPull({ redis: services.jobsRedis, model: model.name, log }),
    onPause: announce,
    log,
  })

  const handOver = createHandOver({
    live: () => live,
    idle: slots.idle,
    roomElsewhere: () => services.roomElsewhere(model.name),
    nowMs,
  })

  function open(claim: ClaimedGeneration): RunningGeneration {
    const startedMs = nowMs()
    const { id, epoch, ids, waitedMs } = claim
    if (epoch > 1) log.info({ requestId: id, epoch, after: ids.length }, 'takes a generation over')
    else engineMetrics.noteQueueWait(model.name, waitedMs)
    const span = traceRun(claim)
    // A claim takes one slot, because the number of choices is not known before it is answered. The other slots are
    // taken even if none is free: the engine queues what it cannot run yet.
    const choiceSlots = Array.from({ length: countOpen(claim) - 1 }, slots.take)
    const onChoiceEnd = () => {
      choiceSlots.pop()?.()
      pull.look()
    }
    const onClose = () => {
      for (const leave of choiceSlots) leave()
      live.delete(liveNumber)
      quarantine.end(run)
      prefills.end(run)
      const result = run.hasOutput() ? 'ran' : 'not-ran'
      metrics.generations.inc({ model: model.name, result })
      runs.noteEnd(run, nowMs() - startedMs)
      span.end()
    }
    const run = running.open(claim, onClose, { span, onChoiceEnd })
    prefills.pass(claim, run)
    const liveNumber = live.add(run)
    quarantine.open(run)
    return run
  }

  function traceRun({ id, epoch, ids, job }: ClaimedGeneration): Span {
    return services.tracing.start(`process ${model.name}`, {
      kind: 'CONSUMER',
      parent: job.traceparent,
      key: toSpanKey(id, epoch),
      linkedKeys: epoch > 1 ? [toSpanKey(id, epoch - 1)] : [],
      attributes: {
        'gen_ai.request.model': model.name,
        'millrace.request.id': id,
        'millrace.epoch': epoch,
        'millrace.continued_tokens': ids.length,
      },
    })
  }

  function giveBack({ status, ...generation }: UnreadClaim) {
    log.error({ requestId: generation.id, epoch: generation.epoch, status }, 'a job cannot be read')
    metrics.noteHandBack(model.name, 'incomplete')
    const declined = { type: 'generation-declined', promptTokens: 0, requirement: '', blame: 'none' } as const
    running.refuse({ model: model.name, ...generation }, { ...declined, reason: 'incomplete' })
  }

  function follow() {
    announce()
    pull.follow()
  }

  return {
    state() {
      const load = loads.last()
      // Zeros while something runs mean that the engine collects no statistics.
      const isKnown = load !== null && (live.size === 0 || load.running > 0)
      return {
        model: model.name,
        ready: pulls(),
        slots: slots.capacity(),
        running: slots.running(),
        meanGenerationMs: runs.meanMs(),
        slotTokensPerS: runs.slotTokensPerS(),
        contextWindow,
        looks: true,
        callFormat: model.chat.callFormat,
        ...runs.totals(),
        kvUsed: isKnown ? load.kvUsedTokens : null,
        kvCapacity: load?.kvCapacityTokens ?? null,
        waiting: load?.waiting ?? null,
        version: release,
      }
    },
    isHealthy: watch.ready,
    followCordon() {
      if (!stopping) follow()
    },
    look: pull.look,
    async drain(graceMs) {
      stopping = true
      announce()
      const closed = pull
        .close()
        .catch((error: unknown) => log.warn({ err: error }, 'the pull did not close'))
      await handOver(graceMs)
      await closed
    },
    stop() {
      loads.stop()
      watch.stop()
    },
  }
}

/** Returns the number of choices that have not ended. */
function countOpen({ job, choices = [] }: ClaimedGeneration): number {
  return (job.choices ?? 1) - choices.filter(({ ended }) => ended).length
}

/** The key of one epoch's span. The span of the next epoch, mostly in another worker, is linked to it. */
const toSpanKey = (id: string, epoch: number) => `${id}/${epoch}`
