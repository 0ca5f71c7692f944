import { Registry } from '@prometheus-io/client'
import pino from 'pino'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import { NO_SEATING } from '#apps/gateway/generation/dispatch/affinity.ts'
import type { Admission } from '#apps/gateway/generation/admission/admit.ts'
import { createAskForReport } from '#apps/gateway/generation/settle/ask-for-report.ts'
import type { Dispatch, Dispatched } from '#apps/gateway/generation/dispatch/dispatch.ts'
import { createEndGeneration } from '#apps/gateway/generation/settle/end-generation.ts'
import { createExpectedOutput } from '#apps/gateway/generation/estimates/expected-output.ts'
import type { GrowHold } from '#apps/gateway/generation/holds/grow-hold.ts'
import { createInputEstimate } from '#apps/gateway/generation/estimates/estimate-input.ts'
import { createGenerate } from '#apps/gateway/generation/generate.ts'
import type {
  GenerationCall,
  OutputEvent,
  SendOutput,
} from '#apps/gateway/generation/request/generation-call.ts'
import { createGenerationMetrics } from '#apps/gateway/generation/measure/generation-metrics.ts'
import { createObserve } from '#apps/gateway/generation/measure/observe.ts'
import { createOpenRun } from '#apps/gateway/generation/generation-run.ts'
import { createOpenStream } from '#apps/gateway/generation/output/open-stream.ts'
import { createRecovery } from '#apps/gateway/generation/recovery.ts'
import type { Reserve } from '#apps/gateway/generation/holds/reserve.ts'
import type { Ending } from '#apps/gateway/generation/settle/settlements.ts'
import type { StartWait } from '#apps/gateway/generation/admission/start-waits.ts'
import { createStreamCounters } from '#apps/gateway/generation/measure/stream-metrics.ts'
import { createRequestBook } from '#apps/gateway/reports/request-book.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type {
  GenerationClaimed,
  GenerationDeclined,
  GenerationEvent,
} from '#libs/contracts/generation-event.ts'
import { createStreamInbox, type StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import { generationCall } from '../../../../support/generation-call.ts'
import { generationJob, enqueuePlace } from '../../../../support/generation-job.ts'

export const claimed = (fields: Partial<GenerationClaimed> = {}): GenerationClaimed => ({
  type: 'generation-claimed',
  worker: 'worker-1',
  promptTokens: 3,
  after: 0,
  guided: false,
  ...fields,
})
export const declined = (fields: Partial<GenerationDeclined> = {}): GenerationDeclined => ({
  type: 'generation-declined',
  reason: 'worker-stopping',
  promptTokens: 0,
  requirement: '',
  blame: 'none',
  ...fields,
})
export const text = (words: string): GenerationEvent => ({ type: 'text-delta', text: words })
export const end = (completionTokens: number): GenerationEvent => ({
  type: 'generation-end',
  finishReason: 'stop',
  usage: { promptTokens: 3, cachedTokens: 0, completionTokens, reasoningTokens: 0 },
})

type Send = (events: readonly (GenerationEvent | readonly [GenerationEvent, readonly number[]])[]) => void

type Epoch = (send: Send, inbox: StreamInbox) => void

type Given = {
  /** The actions of the workers, one for each epoch, which run once the epoch is queued. */
  epochs?: Epoch[]
  /** Called when the generation is queued. */
  begin?: () => void | Promise<void>
  showsCost?: boolean
  growHold?: GrowHold
  exact?: Reserve['exact']
  /** The error that admission throws. */
  refusal?: ApiError
  startWait?: StartWait
  call?: Partial<GenerationCall>
  /** The worker that has claimed the generation, by its record. */
  claimant?: string
  /** How the worker answers when it is asked for a report. */
  report?: Epoch
}

export function setUp(given: Given) {
  const log: string[] = []
  /** Each epoch begins a second after the one before it. */
  let clockMs = 0
  const settled: Ending[] = []
  const generations: Parameters<Dispatch>[0][] = []
  const { inbox, feed } = createStreamInbox(7, () => log.push('close'))
  const send: Send = (events) => {
    let seq = feed.lastSeq()
    const epoch = inbox.epoch()
    for (const each of events) {
      const [event, ids] = 'type' in each ? [each, []] : each
      seq += 1
      feed.accept({ stream: 7, epoch, seq, event, ids }, `worker-${epoch}`)
    }
    feed.deliver()
  }
  const runEpoch = () => {
    clockMs += 1_000
    given.epochs?.[inbox.epoch() - 1]?.(send, inbox)
  }
  let mayBeQueued = false
  let job = generationJob({ id: 'g1', model: 'demo-chat' })
  const { hold } = job
  const toDispatched = (generation: Parameters<Dispatch>[0]): Dispatched => {
    generations.push(generation)
    return {
      async begin() {
        log.push('queue')
        mayBeQueued = true
        await given.begin?.()
        runEpoch()
        return 0
      },
      claimed: ({ worker }) => void log.push(`claimed by ${worker}`),
      running: () => undefined,
      async again({ restart, requirement, hold: replacing }) {
        inbox.raise({ restart })
        log.push(
          ['again after', inbox.idCount(), requirement, replacing?.amountNano].filter(Boolean).join(' '),
        )
        runEpoch()
      },
      close: () => undefined,
      growHold: (grown) => void (job = { ...job, hold: grown }),
      job: () => job,
      mayBeQueued: () => mayBeQueued,
    }
  }
  const reserve = {
    async estimated() {
      log.push('reserve')
      job = { ...job, hold: { ...hold, cachedInputPriceNano: '500000' } }
      return job.hold
    },
    exact: given.exact ?? (async () => ({ ...hold, amountNano: '42' })),
  }
  const registry = new Registry()
  const demand = createDemand({ onUnserved: () => {}, nowMs: () => 0 })
  const generate = createGenerate({
    admit(): Admission {
      log.push('admit')
      if (given.refusal !== undefined) throw given.refusal
      return {
        place: enqueuePlace({ mostAhead: 5 }),
        startWait: given.startWait ?? null,
        queued: () => {},
        claimed: () => {},
        compiled: () => log.push('compiled'),
        leave: () => log.push('left'),
        refuse: () => new ApiError('model_busy', 'Busy.', { retryAfterS: 3 }),
        notStarted: () => new ApiError('model_warming', 'Starting.'),
      }
    },
    reserve,
    openRun: createOpenRun({
      enterHold: () => () => undefined,
      showsCost: given.showsCost ?? false,
      openStream: createOpenStream({ openInbox: () => inbox, limitMs: 60_000 }),
      dispatch: toDispatched,
      recovery: createRecovery({
        reserve,
        picture: { find: () => null },
        metrics: createStreamCounters(registry),
        poisonBound: { isBarred: () => false, note: () => {} },
        log: pino({ level: 'silent' }),
      }),
      endGeneration: createEndGeneration({
        settlements: {
          add(ending, onAnswer) {
            settled.push(ending)
            onAnswer({ status: 'recorded', worker: 'worker-1', waited: ending.outcome === 'never-ran' })
          },
          releaseHold: (id) => log.push(`release ${id}`),
        },
        stopWorker: (worker, { epoch }) => log.push(`stop ${worker} ${epoch}`),
        streamSettled: (worker, stream) => log.push(`settled ${worker} ${stream}`),
      }),
      askForReport: createAskForReport({
        claimant: async () => given.claimant ?? null,
        async stop(worker, [stream]) {
          log.push(`ask ${worker} ${stream?.epoch}`)
          given.report?.(send, inbox)
          return true
        },
      }),
      openSeating: () => ({ ...NO_SEATING }),
      inputEstimate: createInputEstimate(),
      expectedOutput: createExpectedOutput(),
      growHold: given.growHold ?? ((_, { moreTokens }) => log.push(`grow by ${moreTokens}`)),
      gateway: 'gateway-1',
      nowMs: () => 0,
    }),
    receiveVectors: async ({ first, count, promptTokens }, run) => {
      if (first >= run.vectorsReceived())
        run.vectors(
          Array.from({ length: count }, () => Float32Array.of(1)),
          promptTokens,
        )
    },
    observe: createObserve({
      metrics: createGenerationMetrics(registry),
      demand,
      book: createRequestBook({ nowMs: () => clockMs }),
      nowMs: () => clockMs,
    }),
    limitMs: 60_000,
    nowMs: () => 0,
  })
  return {
    events: async (send: SendOutput) => await generate(generationCall(given.call), send),
    log,
    settled,
    generations,
    inbox,
    registry,
    demanded: () => demand.read()['demo-chat'],
  }
}

export async function collect(events: (send: SendOutput) => Promise<void>): Promise<OutputEvent[]> {
  const all: OutputEvent[] = []
  await events((batch) => all.push(...batch))
  return all
}

export const textOf = (events: readonly OutputEvent[]) =>
  events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')
