import type { Redis } from 'ioredis'
import type { GenerationTicket } from '#libs/contracts/generation-job.ts'
import type { EngineState } from '#libs/event-bus/presence.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createTicketPull } from '#libs/ticket-queue/pull-tickets.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { ChatModel } from './chat-model.ts'
import type { ClaimTicket } from './claim-ticket.ts'
import type { ConnectedEngine } from './connect-engine.ts'
import type { DeliverVectors } from './embedding/deliver-vectors.ts'
import { createEmbedInputs } from './embedding/embed-inputs.ts'
import { createFairLimit } from './embedding/fair-limit.ts'
import { createTokenizeInputs } from './embedding/tokenize-inputs.ts'
import { createEndRun } from './end-run.ts'
import { createProcessGeneration } from './process-generation.ts'
import { createRunChat } from './run-chat.ts'
import { createRunEmbedding } from './run-embedding.ts'
import type { RunningGeneration, RunningGenerations } from './running-generations.ts'
import type { Settlements } from './settlements.ts'
import { createSlots } from './slots.ts'
import { createEngineWatch } from './watch-engine.ts'
import type { WorkerMetrics } from './worker-metrics.ts'

/** One engine with its worker: pulls as many generations as the engine can run, runs them, stops in order. */
export type ServedEngine = {
  state(): EngineState
  /** Stops pulling, lets running generations end within `graceMs`, then ends them as interrupted. */
  drain(graceMs: number): Promise<void>
}

/** What all engines of this process share. */
export type WorkerServices = {
  readonly worker: string
  readonly claim: ClaimTicket
  readonly running: RunningGenerations
  readonly settlements: Settlements
  readonly deliverVectors: DeliverVectors
  readonly ticketRedis: Redis
  /** Tickets that this process claims or runs, whichever engine took them. */
  readonly ticketsInHand: Set<string>
  readonly metrics: WorkerMetrics
  /** Publishes a heartbeat at once. */
  readonly announce: () => void
  readonly nowMs: () => number
  readonly log: Logger
}

/** Weight of the newest generation in the moving mean of generation times. */
const MEAN_SHARE = 0.1
/** A stopped generation only has to publish its last event. */
const STOP_MS = 3_000

/** Serves one model with one engine; pulling starts as soon as the engine is healthy. */
export function serveEngine(deps: {
  model: { readonly name: string; readonly tokenizer: Tokenizer; readonly chat: ChatModel }
  engine: ConnectedEngine
  /** An engine that runs generations and gives no token for this long is taken for hung. */
  silenceMs: number
  services: WorkerServices
}): ServedEngine {
  const { model, silenceMs, services } = deps
  const { client: engine, maxNumSeqs, contextWindow } = deps.engine
  const { worker, ticketsInHand, metrics, announce, nowMs } = services
  const log = services.log.child({ model: model.name })
  const slots = createSlots(maxNumSeqs)
  const live = new Map<string, RunningGeneration>()
  let stopping = false
  let pulling = false
  let meanGenerationMs: number | null = null

  const watch = createEngineWatch({
    healthCheck: engine.healthCheck,
    running: slots.running,
    silenceMs,
    onChange: (ready) => {
      pullWhile(ready).catch((error: unknown) =>
        log.error({ err: error }, 'pulling did not follow the engine'),
      )
    },
    onLost: () => stopAll('engine-lost'),
    nowMs,
    log,
  })

  const processGeneration = createProcessGeneration({
    claim: async (ticket) => await services.claim(model.name, ticket),
    open(job, epoch) {
      const run = services.running.open(job, epoch)
      live.set(ticketName({ id: job.id, epoch }), run)
      return run
    },
    // A ticket that was being claimed when the engine died is declined as well.
    isStopping: () => stopping || !watch.ready(),
    runChat: createRunChat({ worker, model: model.chat, engine, contextWindow, watch }),
    runEmbedding: createRunEmbedding({
      worker,
      tokenizeInputs: createTokenizeInputs(model.tokenizer),
      embedInputs: createEmbedInputs({
        embed: engine.embed,
        // The generations fill the slots, their inputs this limit: the engine runs no more of either at once.
        limit: createFairLimit(maxNumSeqs),
        deliver: services.deliverVectors,
      }),
      contextWindow,
      watch,
    }),
    endRun: createEndRun({ settlements: services.settlements, watch, log }),
  })

  const pull = createTicketPull({
    redis: services.ticketRedis,
    model: model.name,
    log,
    // BullMQ hands over the next ticket when this resolves, that is when the engine can run one more.
    async onTicket(ticket) {
      // The gateway may add a ticket again while its claim is under way; it must not run twice.
      const name = ticketName(ticket)
      if (!ticketsInHand.has(name)) {
        ticketsInHand.add(name)
        slots.take(async () => {
          await runTicket(ticket)
          live.delete(name)
          ticketsInHand.delete(name)
        })
      }
      await slots.room()
    },
  })

  async function runTicket(ticket: GenerationTicket) {
    const startedMs = nowMs()
    try {
      const result = await processGeneration(ticket)
      metrics.generations.inc({ model: model.name, result })
      if (result === 'ran') measure(nowMs() - startedMs)
    } catch (error) {
      log.error({ err: error, ticket }, 'ticket could not be claimed')
    }
  }

  function measure(ms: number) {
    meanGenerationMs =
      meanGenerationMs === null ? ms : meanGenerationMs + (ms - meanGenerationMs) * MEAN_SHARE
  }

  async function pullWhile(ready: boolean) {
    if (stopping) return
    if (!ready) await pull.pause()
    else if (pulling) await pull.resume()
    else {
      pulling = true
      pull.start()
    }
    announce()
  }

  function stopAll(reason: 'engine-lost' | 'worker-stopping') {
    for (const run of live.values()) run.stop(reason)
  }

  return {
    state: () => ({
      model: model.name,
      ready: watch.ready() && !stopping,
      slots: slots.capacity(),
      running: slots.running(),
      meanGenerationMs,
    }),
    async drain(graceMs) {
      stopping = true
      announce()
      // Before any wait: a ticket that is handed over later could not be declined.
      await pull.close()
      await within(graceMs, slots.idle())
      stopAll('worker-stopping')
      await within(STOP_MS, slots.idle())
      watch.stop()
    },
  }
}

const ticketName = ({ id, epoch }: GenerationTicket) => `${id} ${epoch}`

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, limitMs)
  await Promise.race([work, promise])
  clearTimeout(timer)
}
