import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationError } from '#libs/contracts/generation-event.ts'
import { runWithin, traceStep } from '#libs/telemetry/span.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { Admission, Admit } from './admission/admit.ts'
import type { Generate, SendOutput } from './request/generation-call.ts'
import type { Observe } from './measure/observe.ts'
import { CallersFailure } from './request/failure.ts'
import type { OpenRun, Run } from './generation-run.ts'
import type { ReceiveVectors } from './receive-vectors.ts'
import type { Reserve } from './holds/reserve.ts'

/**
 * One generation, as the gateway runs it: admit → reserve → queue → receive events → settle. Every branch between the
 * steps is here. The steps are in other files: `admit.ts`, `reserve.ts`, `generation-run.ts`, `receive-vectors.ts` and
 * `observe.ts`.
 *
 * A request may want several answers to its prompt. The events of these choices come in one stream, in which `choice`
 * says to which choice the next events belong.
 *
 * The gateway decides everything about the generation. When its worker is lost, the generation goes on with another
 * worker (`run.recover`). When this function ends, in whatever way, the generation is settled. The caller pays for the
 * output that was received:
 * - complete output: all of it, as its worker counted it;
 * - the caller left: the prompt if its engine had it, and the output up to the last frame that was received;
 * - a failure: nothing, unless the caller caused it (`failure.ts`).
 */
export function createGenerate(deps: {
  admit: Admit
  reserve: Reserve
  openRun: OpenRun
  receiveVectors: ReceiveVectors
  observe: Observe
  /** The longest time of a generation, queueing included. */
  limitMs: number
  /** A clock that never goes back. */
  nowMs: () => number
}): Generate {
  const { admit, reserve, openRun, receiveVectors, observe, limitMs, nowMs } = deps

  return async (call, send) => {
    const deadlineMs = nowMs() + limitMs
    const maxOutputTokens = Math.min(call.maxOutputTokens ?? Infinity, call.model.maxOutputTokens)

    const observed = observe(call)
    let admission: Admission | null = null
    let run: Run | null = null

    try {
      admission = await traceStep(call.span, 'admit', { toErrorType, run: () => admit(call) })
      const hold = await traceStep(call.span, 'reserve', {
        kind: 'CLIENT',
        toErrorType,
        run: async () => await reserve.estimated(call, { outputTokens: maxOutputTokens, deadlineMs }),
      })
      const sending = call.span.child(`send ${call.model.id}`, { kind: 'PRODUCER' })
      const { traceparent } = sending
      const opened = openRun(call, { admission, hold, maxOutputTokens, deadlineMs, observed, traceparent })

      run = opened
      if (call.signal.aborted) return
      const ahead = await runWithin(sending, { toErrorType, run: async () => await opened.queue() })
      observed.admitted({ ahead, tokens: () => opened.tokens() })
      if (admission.startWait !== null) {
        admission.startWait.begin()
        observed.awaitsStart()
      }

      await receive(opened, send)
    } catch (error) {
      observed.failed(error)
      run?.fail(error)
      throw error
    } finally {
      admission?.leave()
      observed.ended(run?.settle() ?? null)
    }
  }

  async function receive(run: Run, send: SendOutput) {
    const sendReceived = () => {
      const received = run.takeOutput()
      if (received.length > 0) send(received, run.choice())
    }

    for await (const batch of run.inbox) {
      for (const event of batch) {
        switch (event.type) {
          case 'generation-claimed':
            run.claimed(event)
            break
          case 'prompt-cached':
            run.promptCached(event)
            break
          case 'generation-declined':
          case 'stream-lost':
            // The output is sent before the recovery, because the recovery takes some time.
            sendReceived()
            await run.recover(event)
            break
          case 'generation-short':
            run.growHold(event)
            break
          case 'vectors-ready':
            await receiveVectors(event, run)
            break
          case 'generation-error':
            sendReceived()
            throw toApiError(event)
          case 'choice':
            sendReceived()
            run.begin(event.choice)
            break
          case 'choice-end':
          case 'generation-end':
            run.complete(event)
            break
          case 'prompt-logprobs':
          case 'token-logprobs':
          case 'reasoning-delta':
          case 'text-delta':
          case 'tool-call-start':
          case 'tool-call-delta':
            run.received(event)
            break
        }
      }
      sendReceived()
      if (run.isComplete()) return
    }
  }
}

const toErrorType = (error: unknown) => (error instanceof ApiError ? error.code : 'upstream_error')

function toApiError({ code, message, isCharged }: GenerationError): ApiError {
  if (isCharged === true) return new ApiError(code, message, { cause: new CallersFailure() })
  const unavailable = code === 'model_unavailable'
  return new ApiError(code, message, unavailable ? { retryAfterS: RETRY_AFTER_S.workerUnavailable } : {})
}
