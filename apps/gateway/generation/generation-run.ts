import type {
  ChoiceEnd,
  GenerationDeclined,
  GenerationClaimed,
  GenerationEnd,
  GenerationShort,
  Usage,
} from '#libs/contracts/generation-event.ts'
import type { Hold } from '#libs/contracts/generation-job.ts'
import type { StreamInbox, StreamLost } from '#libs/event-bus/stream-inbox.ts'
import type { Admission } from './admission/admit.ts'
import type { Affinity } from './dispatch/affinity.ts'
import type { AskForReport } from './settle/ask-for-report.ts'
import { ChoiceOutputs } from './output/choice-outputs.ts'
import type { Dispatch, Dispatched } from './dispatch/dispatch.ts'
import type { EndGeneration } from './settle/end-generation.ts'
import type { InputEstimate } from './estimates/estimate-input.ts'
import type { ExpectedOutput } from './estimates/expected-output.ts'
import { toFailure, toOutcome, type Failure } from './request/failure.ts'
import type { GenerationCall, OutputEvent } from './request/generation-call.ts'
import type { GenerationStream, OpenStream } from './output/open-stream.ts'
import type { GrowHold } from './holds/grow-hold.ts'
import { createProgress, type Progress } from './measure/progress.ts'
import type { Recovery } from './recovery.ts'
import type { Observed } from './measure/observe.ts'
import type { RunningHolds, RunningRequest } from './holds/running-holds.ts'
import { toCharge } from './settle/to-charge.ts'

/** The gateway's side of one generation, from its reservation to its settlement. */
export type Run = {
  readonly call: GenerationCall
  /** The number of the choice to which the present output belongs, from 0. */
  choice(): number
  readonly inbox: StreamInbox
  /**
   * Queues the generation for the first time. Returns how many generations wait before it; null if the number is unknown.
   * Throws `model_busy` or `model_unavailable`.
   */
  queue(): Promise<number | null>
  claimed(claim: GenerationClaimed): void
  promptCached(event: { readonly cachedTokens: number }): void
  /** Asks billing for a larger hold while the output goes on. Returns at once. */
  growHold(short: GenerationShort): void
  /** Takes the vectors of the next inputs, which have `promptTokens` tokens together. */
  vectors(vectors: readonly Float32Array[], promptTokens: number): void
  /** Returns the number of inputs whose vectors were received. */
  vectorsReceived(): number
  /** Notes that the next output belongs to this choice. The output of the choice before it must have been taken. */
  begin(choice: number): void
  received(event: OutputEvent): void
  /** Notes the end of the present choice, or of the whole generation. */
  complete(end: ChoiceEnd | GenerationEnd): void
  isComplete(): boolean
  /**
   * Returns the output of the present choice that was received since the last call and may be sent. It counts as sent
   * from now on. If no other worker could continue the output and the client does not stream, all output of a choice is
   * kept back until the choice is complete. So it can begin anew with another worker.
   */
  takeOutput(): readonly OutputEvent[]
  /** Queues the generation again after its worker gave it back or was lost. Throws an `ApiError` if it cannot go on. */
  recover(lost: GenerationDeclined | StreamLost): Promise<void>
  /** Returns the number of output tokens that were received. */
  tokens(): number
  /** Records a failure. What the request then costs: see `failure.ts`. A caller who had left before pays as usual. */
  fail(error: unknown): void
  /** Ends the generation. Must be called once. Returns the usage of the complete output, else null. */
  settle(): Usage | null
}

export type OpenRun = (call: GenerationCall, reserved: Reserved) => Run

type Reserved = {
  readonly admission: Admission
  readonly hold: Hold
  readonly maxOutputTokens: number
  /** A time of `nowMs`. */
  readonly deadlineMs: number
  readonly observed: Pick<Observed, 'claimed' | 'output' | 'timing'>
  readonly traceparent: string | undefined
}

type RunDeps = {
  readonly openStream: OpenStream
  readonly dispatch: Dispatch
  readonly recovery: Recovery
  readonly endGeneration: EndGeneration
  readonly inputEstimate: InputEstimate
  readonly expectedOutput: Pick<ExpectedOutput, 'learn'>
  readonly growHold: GrowHold
  readonly askForReport: AskForReport
  readonly openSeating: Affinity['open']
  readonly enterHold: RunningHolds['enter']
  /** True if answers include their cost. */
  readonly showsCost: boolean
  /** Boot id of this gateway. */
  readonly gateway: string
  /** A clock that never goes back. */
  readonly nowMs: () => number
}

export function createOpenRun(deps: RunDeps): OpenRun {
  return (call, reserved) => new GenerationRun(deps, call, reserved)
}

/** A class, because a gateway has one run for each open stream, and fourteen closures instead would take 0.8 KB. */
class GenerationRun implements Run, RunningRequest {
  readonly call: GenerationCall
  readonly #deps: RunDeps
  readonly #admission: Admission
  readonly #observed: Reserved['observed']
  readonly #deadlineMs: number
  readonly #stream: GenerationStream
  readonly #dispatched: Dispatched
  readonly #progress: Progress
  readonly #outputs = new ChoiceOutputs()
  readonly #leaveHolds: () => void
  #wasSent = false
  #vectorCount = 0
  /** The output tokens and vectors of earlier epochs, which do not count as output of this epoch. */
  #tokensBefore = 0
  #vectorsBefore = 0
  /** The deaths of engines at which the generation was present (`quarantine.ts`). */
  #engineDeaths = 0
  #end: GenerationEnd | null = null
  /** The usage of the choices that are complete; null if none is. */
  #completed: Usage | null = null
  #failure: Failure | null = null

  constructor(deps: RunDeps, call: GenerationCall, reserved: Reserved) {
    const { openStream, dispatch, inputEstimate, nowMs } = deps
    const { admission, hold, maxOutputTokens, deadlineMs, observed, traceparent } = reserved
    const { model, request, size, choices = 1 } = call
    this.call = call
    this.#deps = deps
    this.#admission = admission
    this.#observed = observed
    this.#deadlineMs = deadlineMs
    // Opened before the generation is queued, so that no event can be missed.
    this.#stream = openStream(call.signal, () => this.#callerLeft())
    this.#progress = createProgress(request.kind)
    this.#dispatched = dispatch({
      job: {
        id: call.id,
        model: model.id,
        gateway: deps.gateway,
        stream: this.inbox.stream,
        hold,
        tenant: { accountId: call.caller.accountId, keyId: call.caller.keyId },
        maxOutputTokens,
        contextWindow: model.contextWindow,
        request,
        ...(choices > 1 && { choices }),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      promptTokens: inputEstimate.estimate(model.id, size),
      admission,
      seating: deps.openSeating(call),
      inbox: this.inbox,
      signal: call.signal,
      remainingMs: () => deadlineMs - nowMs(),
    })
    this.#leaveHolds = deps.enterHold(this)
  }

  choice() {
    return this.#outputs.choice
  }

  get inbox() {
    return this.#stream.inbox
  }

  async queue() {
    return await this.#dispatched.begin()
  }

  /**
   * Passes a claim to the parts of the run:
   * - Admission no longer counts the generation as waiting.
   * - Dispatch notes the generation's worker.
   * - The input estimate is corrected by the number of prompt tokens that the worker of the first claim counted.
   * - `progress` notes the prompt's tokens.
   * - `observed` notes the end of the wait.
   */
  claimed(claim: GenerationClaimed) {
    const { model, size } = this.call
    this.#admission.claimed()
    this.#dispatched.claimed(claim)
    if (!this.#progress.wasClaimed()) this.#deps.inputEstimate.learn(model.id, size, claim.promptTokens)
    this.#progress.claimed(claim)
    this.#observed.claimed(claim)
    if (this.call.signal.aborted) this.#callerLeft()
  }

  promptCached({ cachedTokens }: { readonly cachedTokens: number }) {
    this.#progress.promptCached(cachedTokens)
  }

  growHold(short: GenerationShort) {
    this.#deps.growHold({ dispatched: this.#dispatched, inbox: this.inbox }, short)
  }

  vectors(vectors: readonly Float32Array[], promptTokens: number) {
    this.#outputSeen()
    this.#progress.vectorsReceived(promptTokens)
    this.#vectorCount += vectors.length
    this.call.onVectors?.(vectors)
  }

  vectorsReceived() {
    return this.#vectorCount
  }

  begin(choice: number) {
    this.#outputs.begin(choice)
  }

  received(event: OutputEvent) {
    this.#outputs.push(event)
  }

  complete(end: ChoiceEnd | GenerationEnd) {
    const { caller, model } = this.call
    const own = this.#progress.complete(end.usage)
    const { completionTokens = 0, reasoningTokens = 0 } = this.#completed ?? {}
    this.#completed = {
      ...own,
      completionTokens: completionTokens + own.completionTokens,
      reasoningTokens: reasoningTokens + own.reasoningTokens,
    }
    const isCut = end.finishReason === 'length'
    this.#deps.expectedOutput.learn(model.id, caller.accountId, { tokens: own.completionTokens, isCut })
    if (end.type === 'generation-end') this.#end = { ...end, usage: this.#priced(this.#completed) }
    this.#outputs.end(this.#end ?? { ...end, type: 'generation-end', usage: own })
  }

  isComplete() {
    return this.#end !== null
  }

  takeOutput() {
    if (this.#outputs.isEmpty()) return NO_OUTPUT
    this.#outputSeen()
    const taken = this.#outputs.take({ whole: this.#progress.isGuided() && !this.call.streamed })
    if (taken.length > 0 && !this.#wasSent) {
      this.#wasSent = true
      this.call.onPrompt?.(this.#progress.received(0))
    }
    return taken
  }

  async recover(lost: GenerationDeclined | StreamLost) {
    const { caller, signal } = this.call
    if (signal.aborted) return this.#endLeft(lost)
    const [progress, outputs] = [this.#progress, this.#outputs]
    const restart = progress.isGuided() && this.tokens() > 0
    const { requirement, hold, engineDeaths } = await this.#deps.recovery(lost, {
      job: this.#dispatched.job(),
      caller,
      progress,
      engineDeaths: this.#engineDeaths,
      epochTokens: this.#epochTokens(),
      isPartlySent: restart && outputs.isPartlySent(),
      notStarted: this.#admission.notStarted,
    })
    if (signal.aborted) return this.inbox.close()
    if (restart) outputs.restart()
    outputs.begin(0)
    const queued = this.#dispatched.again({ requirement, hold, restart, engineDeaths })
    // The call has raised the inbox to the next epoch.
    this.#tokensBefore = this.tokens()
    this.#vectorsBefore = this.#vectorCount
    this.#engineDeaths = engineDeaths
    await queued
  }

  tokens() {
    return this.inbox.idCount()
  }

  used() {
    const { hold } = this.#dispatched.job()
    const usedNano = toCharge(this.#usage(), hold) ?? 0n
    return { amountNano: BigInt(hold.amountNano), usedNano, tokens: this.tokens() }
  }

  fail(error: unknown) {
    // A caller who had left before the failure pays for the received output.
    if (this.call.signal.aborted) return
    this.#failure = toFailure(error)
  }

  settle() {
    this.#leaveHolds()
    this.#stream.close()
    this.#dispatched.close()
    const usage = this.#usage()
    const isComplete = this.isComplete()
    const hasOutput = this.tokens() > 0 || this.#vectorCount > 0
    const { outcome, isUsed } = toOutcome(this.#failure, { isComplete, hasOutput })
    this.#deps.endGeneration({
      dispatched: this.#dispatched,
      inbox: this.inbox,
      outcome,
      usage: isUsed ? usage : NO_USAGE,
      deadlineMs: this.#deadlineMs,
      timing: this.#observed.timing(this.#end),
    })
    return isComplete ? usage : null
  }

  /** Returns the usage of the complete output, else of the received output. */
  #usage(): Usage {
    return this.#end?.usage ?? this.#priced(this.#progress.received(this.tokens()))
  }

  #priced(usage: Usage): Usage {
    const costNano = this.#deps.showsCost ? toCharge(usage, this.#dispatched.job().hold) : null
    return costNano === null ? usage : { ...usage, costNano }
  }

  /** The caller pays for what its engine was given. If the gateway does not know that, the worker is asked. */
  #callerLeft() {
    const { inbox } = this
    const isKnown = this.call.request.kind === 'chat' && this.#progress.wasClaimed()
    const isBetweenWorkers = inbox.epoch() > 1 && inbox.worker() === null
    if (isKnown || isBetweenWorkers || !this.#dispatched.mayBeQueued()) inbox.close()
    else this.#deps.askForReport(this.#dispatched.job(), inbox)
  }

  /** Ends a generation that its worker gave back, or lost, after the caller had left. */
  #endLeft(lost: GenerationDeclined | StreamLost) {
    if (lost.reason === 'worker-stopping') this.#progress.reported(lost.promptTokens)
    this.inbox.close()
  }

  #epochTokens() {
    return this.tokens() - this.#tokensBefore + this.#vectorCount - this.#vectorsBefore
  }

  #outputSeen() {
    this.#admission.compiled()
    this.#observed.output()
    this.#dispatched.running()
    this.#progress.outputSeen()
  }
}

const NO_OUTPUT: readonly OutputEvent[] = []
const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }
