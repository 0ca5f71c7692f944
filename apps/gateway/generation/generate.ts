import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationError } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { StreamLostError } from '#libs/event-bus/stream-inbox.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { Abandon, AbandonReason } from './abandon.ts'
import type { Admit } from './admit.ts'
import type { Enqueue } from './enqueue.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { Generate, OutputEvent } from './generation-call.ts'
import type { KeepQueued } from './keep-queued.ts'
import type { OpenStream } from './open-stream.ts'
import type { ReceiveVectors } from './receive-vectors.ts'
import type { Requeue } from './requeue.ts'
import type { Reserve } from './reserve.ts'

/**
 * One generation, as the gateway runs it: admit → reserve → enqueue → receive events → end. Every branch between the
 * steps is here; the steps are the functions in `deps`, each in the file of its name.
 *
 * After the reservation the generation is settled exactly once: by the worker that ran it, or by `abandon` when
 * this function ends before the worker has settled it.
 */
export function createGenerate(deps: {
  admit: Admit
  reserve: Reserve
  openStream: OpenStream
  enqueue: Enqueue
  keepQueued: KeepQueued
  requeue: Requeue
  receiveVectors: ReceiveVectors
  abandon: Abandon
  inputEstimate: Pick<InputEstimate, 'learn'>
  /** Boot id of this gateway. */
  gateway: string
  /** The longest time of a generation, queueing included. */
  limitMs: number
  nowMs: () => number
}): Generate {
  const { admit, reserve, openStream, enqueue, keepQueued, requeue, receiveVectors, abandon } = deps

  return async function* generate(call) {
    const { model, request, signal } = call
    const deadlineMs = deps.nowMs() + deps.limitMs
    const maxOutputTokens = Math.min(call.maxOutputTokens ?? Infinity, model.maxOutputTokens)

    const tag = await admit(call)
    const hold = await reserve.estimated(call, { outputTokens: maxOutputTokens, deadlineMs })

    // Subscribe, then enqueue: no event can be missed.
    const stream = openStream(signal)
    const { inbox } = stream
    let job: GenerationJob = {
      id: call.id,
      model: model.id,
      gateway: deps.gateway,
      stream: inbox.stream,
      hold,
      maxOutputTokens,
      contextWindow: model.contextWindow,
      deadlineMs,
      request,
    }
    let stopQueueing = () => {}
    // The reason for `abandon` if this function ends now; null once the worker has settled the generation. When the
    // reader of this generator stops, it ends at its `yield`.
    let abandonReason: AbandonReason | null = 'caller-left'

    try {
      if (signal.aborted) return
      await enqueue(job, { tag, epoch: 1 })
      stopQueueing = keepQueued(async () => {
        const found = await enqueue(job, { tag, epoch: inbox.epoch() })
        if (found.status === 'claimed') stream.watchWorker(found.worker)
        if (found.status === 'settled') inbox.fail('it was settled without an answer')
      })

      for await (const batch of inbox) {
        const output: OutputEvent[] = []
        for (const event of batch) {
          switch (event.type) {
            case 'generation-claimed':
              stopQueueing()
              stream.watchWorker(event.worker)
              deps.inputEstimate.learn(model.id, request, event.promptTokens)
              break
            case 'generation-declined': {
              // Until it is queued again no worker has it, so only this gateway can settle it.
              abandonReason = 'lost'
              const holdReplaced = event.reason === 'hold-too-small'
              if (holdReplaced) job = { ...job, hold: await reserve.exact(job, event.promptTokens) }
              await requeue(job, { inbox, holdReplaced })
              abandonReason = 'caller-left'
              break
            }
            case 'vectors-ready': {
              const vectors = await receiveVectors(event, inbox, model)
              call.onVectors?.(vectors)
              break
            }
            case 'generation-error':
              abandonReason = null
              throw toApiError(event)
            case 'generation-end':
              abandonReason = null
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
        if (abandonReason === null) return
      }
    } catch (error) {
      if (error instanceof StreamLostError) {
        abandonReason = 'lost'
        throw toInterruption(error, inbox.worker() !== null)
      }
      if (abandonReason === 'caller-left') abandonReason = 'refused'
      throw error
    } finally {
      stopQueueing()
      stream.close()
      if (abandonReason !== null)
        abandon(job, { epoch: inbox.epoch(), worker: inbox.worker(), reason: abandonReason })
    }
  }
}

/** Before a claim nothing ran, so a lost stream is reported as `model_unavailable`. */
function toInterruption(cause: StreamLostError, claimed: boolean): ApiError {
  return claimed
    ? new ApiError('upstream_error', 'The generation was interrupted.', { cause })
    : new ApiError('model_unavailable', 'No worker took this request in time.', { cause })
}

function toApiError({ code, message }: GenerationError): ApiError {
  const unavailable = code === 'model_unavailable'
  return new ApiError(code, message, unavailable ? { retryAfterS: RETRY_AFTER_S.workerUnavailable } : {})
}
