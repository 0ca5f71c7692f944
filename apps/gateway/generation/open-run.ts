import type {
  GenerationDeclined,
  GenerationClaimed,
  GenerationEnd,
  Usage,
} from '#libs/contracts/generation-event.ts'
import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { StreamInbox, StreamLost } from '#libs/event-bus/stream-inbox.ts'
import type { Admission } from './admit.ts'
import type { Dispatch } from './dispatch.ts'
import type { EndGeneration } from './end-generation.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { OutputEstimate } from './estimate-output.ts'
import type { GenerationCall, OutputEvent } from './generation-call.ts'
import type { OpenStream } from './open-stream.ts'
import { toCharge } from './to-charge.ts'
import { createProgress } from './progress.ts'
import type { Recovery } from './recovery.ts'
import type { Observed } from './observe.ts'
import type { Suspects } from './suspects.ts'
import { createTiming } from './timing.ts'

/** The gateway's side of one generation, from its reservation to its settlement. */
export type Run = {
  readonly call: GenerationCall
  readonly inbox: StreamInbox
  /** Queues it for the first time. Throws `model_busy` or `model_unavailable`. */
  queue(): Promise<void>
  claimed(claim: GenerationClaimed): void
  promptCached(event: { readonly cachedTokens: number }): void
  /** The vectors of the next inputs, which have so many tokens. */
  vectors(vectors: readonly Float32Array[], promptTokens: number): void
  /** Inputs whose vectors were received. */
  vectorsReceived(): number
  received(event: OutputEvent): void
  complete(end: GenerationEnd): void
  isComplete(): boolean
  /**
   * What was received since the last call and may be sent; it counts as sent from now on. Output that cannot be
   * continued and whose client does not stream is kept back until it is complete, so that it can begin anew.
   */
  takeOutput(): readonly OutputEvent[]
  /** Queues it again after its worker gave it back or was lost. Throws an `ApiError` where it cannot go on. */
  recover(lost: GenerationDeclined | StreamLost): Promise<void>
  /** It ends by a failure: it costs nothing, unless its caller had left before. */
  fail(error: unknown): void
  /** Ends it. Called once. Returns the usage of a complete output, else null. */
  settle(): Usage | null
}

export type OpenRun = (
  call: GenerationCall,
  reserved: {
    admission: Admission
    hold: Hold
    maxOutputTokens: number
    deadlineMs: number
    observed: Pick<Observed, 'output'>
    traceparent: string | undefined
  },
) => Run

export function createOpenRun(deps: {
  openStream: OpenStream
  dispatch: Dispatch
  recovery: Recovery
  endGeneration: EndGeneration
  suspects: Suspects
  inputEstimate: InputEstimate
  outputEstimate: OutputEstimate
  /** Boot id of this gateway. */
  gateway: string
  /** The queue Redis' clock. */
  redisNowMs: () => number
  /** A clock that never goes back. */
  nowMs: () => number
  /** Whether answers say what they cost. */
  showsCost: boolean
}): OpenRun {
  const { openStream, dispatch, recovery, endGeneration, suspects, inputEstimate, outputEstimate } = deps

  return (call, reserved) => {
    const { admission, hold, maxOutputTokens, deadlineMs, observed, traceparent } = reserved
    const { model, request } = call
    // Opened before it is queued: no event can be missed.
    const stream = openStream(call.signal)
    const { inbox } = stream
    const job: GenerationJob = {
      id: call.id,
      model: model.id,
      gateway: deps.gateway,
      stream: inbox.stream,
      hold,
      maxOutputTokens,
      contextWindow: model.contextWindow,
      request,
      ...(traceparent === undefined ? {} : { traceparent }),
    }
    const promptTokens = inputEstimate.estimate(model.id, request)
    const suspect = suspects.open()
    const dispatched = dispatch({
      job,
      accountId: call.caller.accountId,
      cost: promptTokens + outputEstimate.estimate(model.id, maxOutputTokens),
      promptTokens,
      admission,
      inbox,
      signal: call.signal,
      claimFound: suspect.claimed,
      remainingMs: () => deadlineMs - deps.redisNowMs(),
    })
    const progress = createProgress(request.kind)
    const timing = createTiming({ streamed: call.streamed, nowMs: deps.nowMs })
    let output: OutputEvent[] = []
    let wasSent = false
    let vectorCount = 0
    // What is settled if it ends now: a caller who leaves ends it at any moment.
    let outcome: SettlementOutcome = 'cancelled'
    let end: GenerationEnd | null = null

    const outputSeen = () => {
      timing.output()
      dispatched.running()
      suspect.outputSeen()
      progress.outputSeen()
    }

    return {
      call,
      inbox,
      async queue() {
        timing.queued(await dispatched.begin())
      },
      claimed(claim) {
        admission.leave()
        dispatched.claimed(claim)
        suspect.claimed(claim.worker)
        if (!progress.wasClaimed()) inputEstimate.learn(model.id, request, claim.promptTokens)
        progress.claimed(claim)
        timing.claimed(claim)
      },
      promptCached({ cachedTokens }) {
        progress.promptCached(cachedTokens)
      },
      vectors(vectors, promptTokens) {
        outputSeen()
        progress.vectorsReceived(promptTokens)
        vectorCount += vectors.length
        call.onVectors?.(vectors)
      },
      vectorsReceived: () => vectorCount,
      received(event) {
        output.push(event)
      },
      complete(reported) {
        outcome = 'completed'
        const usage = progress.complete(reported.usage)
        const costNano = deps.showsCost ? toCharge(usage, dispatched.job().hold) : null
        end = { ...reported, usage: { ...usage, ...(costNano !== null && { costNano }) } }
        outputEstimate.learn(model.id, end.usage.completionTokens)
        output.push(end)
      },
      isComplete: () => end !== null,
      takeOutput() {
        if (output.length === 0) return output
        observed.output()
        outputSeen()
        if (progress.isGuided() && !call.streamed && end === null) return []
        const taken = output
        output = []
        wasSent = true
        return taken
      },
      async recover(lost) {
        const restart = progress.isGuided() && inbox.ids().length > 0
        const isPartlySent = restart && wasSent
        const { caller } = call
        const current = dispatched.job()
        const next = await recovery(lost, { job: current, caller, progress, suspect, isPartlySent })
        if (restart) output = []
        await dispatched.again({ ...next, restart })
      },
      fail(error) {
        // A caller who had left before pays for what was received.
        if (call.signal.aborted) return
        outcome = 'fault'
        timing.failed(error)
      },
      settle() {
        stream.close()
        suspect.close()
        dispatched.close()
        const usage = end?.usage ?? progress.received(inbox.ids().length)
        endGeneration({ dispatched, inbox, outcome, usage, deadlineMs, timing: timing.end(end) })
        return end?.usage ?? null
      },
    }
  }
}
