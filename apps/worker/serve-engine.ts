import type { Redis } from 'ioredis'
import type { EngineState } from '#libs/event-bus/presence.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { GenerationTicket } from '#libs/contracts/generation-job.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import type { ModelFamily, SamplingDefaults } from '#libs/dialect/family.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createTicketPull } from '#libs/ticket-queue/pull-tickets.ts'
import type { ClaimTicket } from './claim-ticket.ts'
import type { DeliverVectors } from './embedding/deliver-vectors.ts'
import { createEmbedInputs } from './embedding/embed-inputs.ts'
import { createFairLimit } from './embedding/fair-limit.ts'
import { createTokenizeInputs } from './embedding/tokenize-inputs.ts'
import type { EngineClient } from './engine/engine-client.ts'
import { createProcessGeneration } from './process-generation.ts'
import type { RenderPrompt } from './prompt/render-prompt.ts'
import type { RunningGeneration, RunningGenerations } from './running-generations.ts'
import type { Settle } from './settle.ts'
import { createSlots } from './slots.ts'
import { allowsOneCall, callsFormat, constrainOutput } from '#libs/dialect/constrain-output.ts'
import { createOutputParser } from '#libs/dialect/parse-output.ts'
import { startsInReasoning } from '#libs/dialect/reasoning/starts-in-reasoning.ts'
import type { WorkerMetrics } from './worker-metrics.ts'
import { createEngineWatch } from './watch-engine.ts'

/** One engine with its worker: pulls what the engine can run, runs it, stops in order. */
export type ServedEngine = {
  state(): EngineState
  /** Stops pulling, lets what runs end within `graceMs`, then ends it as interrupted. */
  drain(graceMs: number): Promise<void>
}

/** How slowly the mean generation time follows: each generation moves it by this share. */
const MEAN_SHARE = 0.1
/** After it was told to stop, a generation only has to say so. */
const STOP_MS = 3_000

/** Begins to serve; pulling starts as soon as the engine is healthy. */
export function serveEngine(deps: {
  model: string
  worker: string
  family: ModelFamily
  tokenizer: Tokenizer
  endIds: ReadonlySet<number>
  samplingDefaults: SamplingDefaults
  renderPrompt: RenderPrompt
  engine: EngineClient
  limits: { maxNumSeqs: number; contextWindow: number; silenceMs: number }
  claim: ClaimTicket
  /** Tickets that this process claims or runs, whichever engine took them. */
  inHand: Set<string>
  running: RunningGenerations
  deliverVectors: DeliverVectors
  settle: Settle
  metrics: WorkerMetrics
  queueRedis: Redis
  announce: () => void
  nowMs: () => number
  log: Logger
}): ServedEngine {
  const { model, worker, family, tokenizer, endIds, engine, limits, running, metrics, inHand, nowMs } = deps
  const log = deps.log.child({ model })
  const slots = createSlots(limits.maxNumSeqs)
  const live = new Map<string, RunningGeneration>()
  let stopping = false
  let pulling = false
  let meanGenerationMs: number | null = null

  const watch = createEngineWatch({
    healthCheck: engine.healthCheck,
    running: slots.running,
    silenceMs: limits.silenceMs,
    onChange: (ready) => {
      follow(ready).catch((error: unknown) => log.error({ err: error }, 'pulling did not follow the engine'))
    },
    onLost: () => stopAll('engine-lost'),
    nowMs,
    log,
  })

  const processGeneration = createProcessGeneration({
    claim: deps.claim,
    engine,
    renderPrompt: deps.renderPrompt,
    samplingDefaults: deps.samplingDefaults,
    endIds: Array.from(endIds),
    constrain: (job) => constrainOutput(job.request, family),
    createParser: (job, prompt) =>
      createOutputParser({
        generationId: job.id,
        tokenizer,
        endIds,
        family: { ...family, toolCalls: callsFormat(job.request, family.toolCalls) },
        tools: job.request.toolChoice === 'none' ? [] : job.request.tools,
        singleCall: allowsOneCall(job.request),
        stop: job.request.stop,
        startsInReasoning:
          typeof family.reasoning === 'object' && startsInReasoning(prompt.tail, family.reasoning.open),
        earlierCalls: countCalls(job.request.messages),
      }),
    tokenizeInputs: createTokenizeInputs(tokenizer),
    embedInputs: createEmbedInputs({
      embed: engine.embed,
      // A generation takes a slot, each of its inputs a place here: neither is more than the engine runs at once.
      limit: createFairLimit(limits.maxNumSeqs),
      deliver: deps.deliverVectors,
    }),
    open(job, epoch) {
      const run = running.open(job, epoch)
      live.set(ticketName({ id: job.id, epoch }), run)
      return run
    },
    settle: deps.settle,
    watch,
    // A ticket that was on its way when the engine died goes back as well.
    isStopping: () => stopping || !watch.ready(),
    model,
    worker,
    contextWindow: limits.contextWindow,
    log,
  })

  const pull = createTicketPull({
    redis: deps.queueRedis,
    model,
    log,
    // BullMQ hands over the next ticket when this resolves: when the engine can run one more.
    async onTicket(ticket) {
      // The gateway may have added it again while its claim is on its way: one run of it is enough.
      const name = ticketName(ticket)
      if (!inHand.has(name)) {
        inHand.add(name)
        slots.take(async () => {
          await runTicket(ticket)
          live.delete(name)
          inHand.delete(name)
        })
      }
      await slots.room()
    },
  })

  async function runTicket(ticket: GenerationTicket) {
    const startedMs = nowMs()
    try {
      const result = await processGeneration(ticket)
      metrics.generations.inc({ model, result })
      if (result === 'ran') measure(nowMs() - startedMs)
    } catch (error) {
      log.error({ err: error, ticket }, 'ticket could not be claimed')
    }
  }

  function measure(ms: number) {
    meanGenerationMs =
      meanGenerationMs === null ? ms : meanGenerationMs + (ms - meanGenerationMs) * MEAN_SHARE
  }

  async function follow(ready: boolean) {
    if (stopping) return
    if (!ready) await pull.pause()
    else if (pulling) await pull.resume()
    else {
      pulling = true
      pull.start()
    }
    deps.announce()
  }

  function stopAll(reason: 'engine-lost' | 'worker-stopping') {
    for (const run of live.values()) run.stop(reason)
  }

  return {
    state: () => ({
      model,
      ready: watch.ready() && !stopping,
      slots: slots.capacity(),
      running: slots.running(),
      meanGenerationMs,
    }),
    async drain(graceMs) {
      stopping = true
      deps.announce()
      // Closed before anything is waited for: a ticket that is handed over later could not be answered.
      await pull.close()
      await within(graceMs, slots.idle())
      stopAll('worker-stopping')
      await within(STOP_MS, slots.idle())
      watch.stop()
    },
  }
}

function countCalls(messages: readonly ChatMessage[]): number {
  return messages.reduce(
    (sum, message) => sum + (message.role === 'assistant' ? message.toolCalls.length : 0),
    0,
  )
}

const ticketName = ({ id, epoch }: GenerationTicket) => `${id} ${epoch}`

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, limitMs)
  await Promise.race([work, promise])
  clearTimeout(timer)
}
