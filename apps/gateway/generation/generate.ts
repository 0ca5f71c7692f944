import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationError } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { StreamLostError, type StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Abandon } from './abandon.ts'
import type { Admit } from './admit.ts'
import type { Dispatch } from './dispatch.ts'
import type { Generate, GenerationCall, OutputEvent } from './generation-call.ts'
import type { KeepQueued } from './keep-queued.ts'
import type { Reserve } from './reserve.ts'
import type { ReceiveVectors } from './receive-vectors.ts'

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
  receiveVectors: ReceiveVectors
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
  const { admit, reserve, dispatch, keepQueued, receiveVectors, abandon } = deps
  const { openInbox, watchWorker, unwatchWorker, learnInput } = deps

  return async function* generate(call) {
    const deadlineMs = deps.nowMs() + deps.limitMs
    const outputTokens = Math.min(call.maxOutputTokens ?? Infinity, call.model.maxOutputTokens)

    const tag = await admit(call)
    const hold = await reserve.first(call, { outputTokens, deadlineMs })

    // Subscribe, then enqueue: no event can be missed.
    const inbox = openInbox()
    const unbindInbox = bindInbox(inbox, { signal: call.signal, limitMs: deps.limitMs + LATE_END_MS })
    let job = toJob(call, { hold, outputTokens, deadlineMs, inbox, gateway: deps.gateway })
    let stopQueueing = () => {}
    let watched: string | null = null
    // Who settles it if we leave now. A caller who stops reading ends this function wherever it stands.
    let settledBy: 'worker' | 'cancel' | 'withdraw' | 'writeOff' = 'cancel'

    function watch(worker: string) {
      inbox.assumeWorker(worker)
      if (watched === worker) return
      if (watched !== null) unwatchWorker(watched)
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
          switch (event.type) {
            case 'generation-claimed':
              stopQueueing()
              watch(event.worker)
              learnInput(call, event.promptTokens)
              break
            case 'generation-declined':
              // Until it is queued again nobody runs it, and nobody but us can settle it.
              settledBy = 'writeOff'
              job = await dispatch.requeue(job, event, inbox)
              settledBy = 'cancel'
              break
            case 'vectors-ready': {
              const vectors = await receiveVectors(event, inbox, call.model)
              call.onVectors?.(vectors)
              break
            }
            case 'generation-error':
              settledBy = 'worker'
              throw toApiError(event)
            case 'generation-end':
              settledBy = 'worker'
              output.push(event)
              break
            case 'reasoning-delta':
            case 'text-delta':
            case 'tool-call-start':
            case 'tool-call-delta':
              output.push(event)
              break
          }
        }
        if (output.length > 0) yield output
        if (settledBy === 'worker') return
      }
    } catch (error) {
      if (error instanceof StreamLostError) {
        settledBy = 'writeOff'
        throw toInterruption(error, inbox.worker() !== null)
      }
      if (settledBy === 'cancel') settledBy = 'withdraw'
      throw error
    } finally {
      stopQueueing()
      unbindInbox()
      const { id, model } = job
      const generation = { id, model, stream: inbox.stream, epoch: inbox.epoch(), worker: inbox.worker() }
      inbox.close()
      if (watched !== null) unwatchWorker(watched)
      if (settledBy !== 'worker') abandon[settledBy](generation)
    }
  }
}

/** A worker ends a generation at its deadline by itself; its last event may need this much longer. */
const LATE_END_MS = 10_000

/** Closes an inbox when its caller hangs up and fails it after `limitMs`, until the returned function is called. */
function bindInbox(
  inbox: StreamInbox,
  { signal, limitMs }: { signal: AbortSignal; limitMs: number },
): () => void {
  const close = () => inbox.close()
  const deadline = setTimeout(() => inbox.fail('its deadline has passed'), limitMs)
  signal.addEventListener('abort', close)
  return () => {
    clearTimeout(deadline)
    signal.removeEventListener('abort', close)
  }
}

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
