import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationError } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { StreamLostError, type StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Abandon } from './abandon.ts'
import type { Admit } from './admit.ts'
import type { Dispatch } from './dispatch.ts'
import type { Generate, GenerationCall, OutputEvent } from './generation-call.ts'
import type { KeepQueued } from './keep-queued.ts'
import { refuseHopeless } from './refuse-hopeless.ts'
import type { Reserve } from './reserve.ts'
import type { TakeVectors } from './take-vectors.ts'

/**
 * One generation as the gateway sees it: admit → reserve → enqueue → events → end. Every branch is here; how
 * each step is done is in the file of its name.
 *
 * Whatever happens after the reservation, its money is settled once: by the worker (it ran), by `cancel` (its
 * caller left), by `withdraw` (we refused it after all) or by `writeOff` (we lost it).
 */
export function createGenerate(deps: {
  admit: Admit
  reserve: Reserve
  dispatch: Dispatch
  keepQueued: KeepQueued
  takeVectors: TakeVectors
  abandon: Abandon
  openInbox: () => StreamInbox
  watchWorker: (worker: string) => void
  unwatchWorker: (worker: string) => void
  learnInput: (call: GenerationCall, promptTokens: number) => void
  gateway: string
  /** How long one generation may take at most, queueing included. */
  limitMs: number
  nowMs: () => number
}): Generate {
  const { admit, reserve, dispatch, keepQueued, takeVectors, abandon } = deps
  const { openInbox, watchWorker, unwatchWorker, learnInput } = deps

  return async function* generate(call) {
    const deadlineMs = deps.nowMs() + deps.limitMs
    const outputTokens = Math.min(call.maxOutputTokens ?? Infinity, call.model.maxOutputTokens)

    refuseHopeless(call.request, call.model)
    const tag = await admit(call)
    const hold = await reserve.first(call, { outputTokens, deadlineMs })

    // Subscribe, then enqueue: no event can be missed.
    const inbox = openInbox()
    const stopWaiting = () => inbox.close()
    call.signal.addEventListener('abort', stopWaiting)
    const deadline = setTimeout(() => inbox.fail('its deadline has passed'), deps.limitMs + LATE_END_MS)
    let job = toJob(call, { hold, outputTokens, deadlineMs, inbox, gateway: deps.gateway })
    let stopQueueing = () => {}
    let watched: string | null = null
    let ending: 'abandoned' | 'withdrawn' | 'lost' | 'over' = 'abandoned'

    function watch(worker: string) {
      inbox.assumeWorker(worker)
      if (watched !== null) return
      watched = worker
      watchWorker(worker)
    }

    try {
      if (call.signal.aborted) return
      await dispatch.enqueue(job, { tag, epoch: 1 })
      stopQueueing = keepQueued(async () => {
        const found = await dispatch.enqueue(job, { tag, epoch: inbox.epoch() })
        if (found.status === 'settled') inbox.fail('it was settled without an answer')
        if (found.status === 'claimed') watch(found.worker)
      })
      for await (const batch of inbox) {
        const output: OutputEvent[] = []
        for (const event of batch) {
          if (event.type === 'generation-claimed') {
            stopQueueing()
            watch(event.worker)
            learnInput(call, event.promptTokens)
          } else if (event.type === 'generation-declined') {
            // Until it is queued again nobody runs it, and nobody but us can settle it.
            ending = 'lost'
            job = await dispatch.requeue(job, event, inbox)
            ending = 'abandoned'
          } else if (event.type === 'generation-error') {
            ending = 'over'
            throw toApiError(event)
          } else if (event.type === 'vectors-ready') {
            const vectors = await takeVectors(event, inbox, call.model)
            call.onVectors?.(vectors)
          } else {
            output.push(event)
            if (event.type === 'generation-end') ending = 'over'
          }
        }
        if (output.length > 0) yield output
        if (ending === 'over') return
      }
    } catch (error) {
      if (!(error instanceof StreamLostError)) {
        if (ending === 'abandoned') ending = 'withdrawn'
        throw error
      }
      ending = 'lost'
      throw toInterruption(error, inbox.worker() !== null)
    } finally {
      stopQueueing()
      clearTimeout(deadline)
      call.signal.removeEventListener('abort', stopWaiting)
      const worker = inbox.worker()
      const generation = { id: job.id, model: job.model, stream: inbox.stream, epoch: inbox.epoch(), worker }
      inbox.close()
      if (watched !== null) unwatchWorker(watched)
      if (ending === 'abandoned') abandon.cancel(generation)
      if (ending === 'withdrawn') abandon.withdraw(generation)
      if (ending === 'lost') abandon.writeOff(generation)
    }
  }
}

/** A worker ends a generation at its deadline by itself; its last event may need this much longer. */
const LATE_END_MS = 10_000

function toJob(
  call: GenerationCall,
  terms: {
    hold: GenerationJob['hold']
    outputTokens: number
    deadlineMs: number
    inbox: StreamInbox
    gateway: string
  },
): GenerationJob {
  return {
    id: call.id,
    model: call.model.id,
    gateway: terms.gateway,
    stream: terms.inbox.stream,
    hold: terms.hold,
    maxOutputTokens: terms.outputTokens,
    contextWindow: call.model.contextWindow,
    deadlineMs: terms.deadlineMs,
    request: call.request,
  }
}

function toInterruption(cause: StreamLostError, claimed: boolean): ApiError {
  return claimed
    ? new ApiError('upstream_error', 'The generation was interrupted.', { cause })
    : new ApiError('model_unavailable', 'No worker took this request in time.', { retryAfterS: 5, cause })
}

function toApiError({ code, message }: GenerationError): ApiError {
  return new ApiError(code, message, code === 'model_unavailable' ? { retryAfterS: 2 } : {})
}
