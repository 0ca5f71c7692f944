import type {
  GenerationDeclined,
  GenerationClaimed,
  GenerationEnd,
  GenerationShort,
  Usage,
} from '#libs/contracts/generation-event.ts'
import { toChoiceId } from '#libs/contracts/choices.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { StreamInbox, StreamLost } from '#libs/event-bus/stream-inbox.ts'
import type { Admission } from './admit.ts'
import type { Seating } from './affinity.ts'
import type { AskForReport } from './ask-for-report.ts'
import type { ChoiceTrials } from './choice-trials.ts'
import type { Dispatch, Dispatched } from './dispatch.ts'
import type { EndGeneration } from './end-generation.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { ExpectedOutput } from './expected-output.ts'
import type { GenerationCall, OutputEvent } from './generation-call.ts'
import type { GenerationStream, OpenStream } from './open-stream.ts'
import type { GrowHold } from './grow-hold.ts'
import type { HoldShares } from './hold-shares.ts'
import { createProgress, type Progress } from './progress.ts'
import type { Recovery } from './recovery.ts'
import type { Observed } from './observe.ts'
import type { Suspect, Suspects } from './suspects.ts'
import { createTiming, type Timing } from './timing.ts'

/** The gateway's side of one generation, from its reservation to its settlement. */
export type Run = {
  readonly call: GenerationCall
  /** The number of the choice that the generation makes, from 0. */
  readonly choice: number
  readonly inbox: StreamInbox
  /** Queues the generation for the first time. Throws `model_busy` or `model_unavailable`. */
  queue(): Promise<void>
  claimed(claim: GenerationClaimed): void
  promptCached(event: { readonly cachedTokens: number }): void
  /** Asks billing for a larger hold while the output goes on. Returns at once. */
  growHold(short: GenerationShort): void
  /** Takes the vectors of the next inputs, which have `promptTokens` tokens together. */
  vectors(vectors: readonly Float32Array[], promptTokens: number): void
  /** Returns the number of inputs whose vectors were received. */
  vectorsReceived(): number
  received(event: OutputEvent): void
  complete(end: GenerationEnd): void
  isComplete(): boolean
  /**
   * Returns the output that was received since the last call and may be sent. It counts as sent from now on. If no
   * other worker could continue the output and the client does not stream, all output is kept back until it is
   * complete. So the generation can begin anew with another worker.
   */
  takeOutput(): readonly OutputEvent[]
  /** Queues the generation again after its worker gave it back or was lost. Throws an `ApiError` if it cannot go on. */
  recover(lost: GenerationDeclined | StreamLost): Promise<void>
  /** Returns the usage of the complete output, else of the received output. */
  usage(): Usage
  /** Notes the error with which the request fails. */
  failed(error: unknown): void
  /** Ends the generation with this outcome and usage. Must be called once. */
  settle(ending: { readonly outcome: SettlementOutcome; readonly usage: Usage }): void
}

export type OpenRun = (call: GenerationCall, reserved: Reserved) => Run

export type Reserved = {
  readonly choice: number
  readonly admission: Admission
  readonly shares: HoldShares
  /** Null if the request has one choice. */
  readonly trials: ChoiceTrials | null
  readonly seating: Seating
  /** Called with the usage of a complete output. Returns the usage that the end of the output reports. */
  readonly toEndUsage: (own: Usage) => Usage
  readonly maxOutputTokens: number
  /** A time of `nowMs`. */
  readonly deadlineMs: number
  readonly observed: Pick<Observed, 'output'>
  readonly traceparent: string | undefined
}

export type RunDeps = {
  readonly openStream: OpenStream
  readonly dispatch: Dispatch
  readonly recovery: Recovery
  readonly endGeneration: EndGeneration
  readonly suspects: Suspects
  readonly inputEstimate: InputEstimate
  readonly expectedOutput: Pick<ExpectedOutput, 'learn'>
  readonly growHold: GrowHold
  readonly askForReport: AskForReport
  /** Boot id of this gateway. */
  readonly gateway: string
  /** A clock that never goes back. */
  readonly nowMs: () => number
}

export function createOpenRun(deps: RunDeps): OpenRun {
  return (call, reserved) => new GenerationRun(deps, call, reserved)
}

/** A class, because a gateway has one run for each open stream, and fourteen closures instead would take 0.8 KB. */
class GenerationRun implements Run {
  readonly call: GenerationCall
  readonly choice: number
  readonly #deps: RunDeps
  readonly #admission: Admission
  readonly #shares: HoldShares
  readonly #trials: ChoiceTrials | null
  readonly #toEndUsage: Reserved['toEndUsage']
  readonly #observed: Reserved['observed']
  readonly #deadlineMs: number
  readonly #stream: GenerationStream
  readonly #suspect: Suspect
  readonly #dispatched: Dispatched
  readonly #progress: Progress
  readonly #timing: Timing
  #output: OutputEvent[] = []
  #wasSent = false
  #vectorCount = 0
  /** How many tokens of the prompt were received with their log probabilities. */
  #promptListed = 0
  /** The output tokens and vectors of earlier epochs, which do not count as output of this epoch. */
  #tokensBefore = 0
  #vectorsBefore = 0
  #end: GenerationEnd | null = null
  /** The usage of this choice's complete output. */
  #usage: Usage | null = null

  constructor(deps: RunDeps, call: GenerationCall, reserved: Reserved) {
    const { openStream, dispatch, suspects, inputEstimate, nowMs } = deps
    const { choice, admission, shares, trials, maxOutputTokens, deadlineMs, observed, traceparent } = reserved
    const { model, request, size } = call
    this.call = call
    this.choice = choice
    this.#deps = deps
    this.#admission = admission
    this.#shares = shares
    this.#trials = trials
    this.#toEndUsage = reserved.toEndUsage
    this.#observed = observed
    this.#deadlineMs = deadlineMs
    // Opened before the generation is queued, so that no event can be missed.
    this.#stream = openStream(call.signal, () => this.#callerLeft())
    const suspect = suspects.open(() => this.#epochTokens(), trials)
    this.#suspect = suspect
    this.#progress = createProgress(request.kind)
    this.#timing = createTiming({ streamed: call.streamed, nowMs })
    this.#dispatched = dispatch({
      job: {
        id: toChoiceId(call.id, choice),
        model: model.id,
        gateway: deps.gateway,
        stream: this.inbox.stream,
        hold: shares.of(choice),
        tenant: { accountId: call.caller.accountId, keyId: call.caller.keyId },
        maxOutputTokens,
        contextWindow: model.contextWindow,
        request,
        ...(choice > 0 && { choice }),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      promptTokens: inputEstimate.estimate(model.id, size),
      admission,
      seating: reserved.seating,
      inbox: this.inbox,
      signal: call.signal,
      claimFound: (worker) => suspect.claimFound(worker),
      remainingMs: () => deadlineMs - nowMs(),
    })
  }

  get inbox() {
    return this.#stream.inbox
  }

  async queue() {
    this.#timing.queued(await this.#dispatched.begin())
  }

  /**
   * Passes a claim to the parts of the run:
   * - `shares` notes that the choice runs with its share of the hold.
   * - Admission no longer counts the generation as waiting.
   * - Dispatch notes the generation's worker.
   * - `suspect` notes which worker is concerned if an engine dies.
   * - The input estimate is corrected by the number of prompt tokens that the worker counted. Only the number of the
   *   first claim of the first choice is used, because all choices have the same prompt.
   * - `progress` notes the prompt's tokens.
   * - `timing` notes the end of the wait.
   *
   * `generate.ts` passes the claim to `observed` as well.
   */
  claimed(claim: GenerationClaimed) {
    const { model, size } = this.call
    this.#shares.claimed()
    this.#admission.claimed()
    this.#dispatched.claimed(claim)
    this.#suspect.claimed(claim.worker)
    const isFirst = this.choice === 0 && !this.#progress.wasClaimed()
    if (isFirst) this.#deps.inputEstimate.learn(model.id, size, claim.promptTokens)
    this.#progress.claimed(claim)
    this.#timing.claimed(claim)
    if (this.call.signal.aborted) this.#callerLeft()
  }

  promptCached({ cachedTokens }: { readonly cachedTokens: number }) {
    this.#progress.promptCached(cachedTokens)
  }

  growHold(short: GenerationShort) {
    const [dispatched, inbox, shares] = [this.#dispatched, this.inbox, this.#shares]
    this.#deps.growHold({ dispatched, inbox, shares, choice: this.choice }, short)
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

  /** The log probabilities of the prompt that an earlier epoch has sent are dropped. */
  received(event: OutputEvent) {
    if (event.type !== 'prompt-logprobs') {
      this.#output.push(event)
      return
    }
    const known = this.#promptListed - event.first
    if (known >= event.tokens.length) return
    this.#promptListed = event.first + event.tokens.length
    this.#output.push(
      known === 0 ? event : { ...event, first: event.first + known, tokens: event.tokens.slice(known) },
    )
  }

  complete(reported: GenerationEnd) {
    this.#trials?.leave(this.choice)
    const { caller, model } = this.call
    const usage = this.#progress.complete(reported.usage)
    this.#usage = usage
    this.#shares.completed(this.choice, usage)
    this.#end = { ...reported, usage: this.#toEndUsage(usage) }
    const isCut = reported.finishReason === 'length'
    this.#deps.expectedOutput.learn(model.id, caller.accountId, { tokens: usage.completionTokens, isCut })
    this.#output.push(this.#end)
  }

  isComplete() {
    return this.#end !== null
  }

  takeOutput() {
    if (this.#output.length === 0) return this.#output
    this.#observed.output()
    this.#outputSeen()
    if (this.#progress.isGuided() && !this.call.streamed && this.#end === null) return []
    const taken = this.#output
    this.#output = []
    if (!this.#wasSent) this.call.onPrompt?.(this.#progress.received(0))
    this.#wasSent = true
    return taken
  }

  async recover(lost: GenerationDeclined | StreamLost) {
    const { caller, signal } = this.call
    if (signal.aborted) return this.#endLeft(lost)
    const [progress, suspect, trials] = [this.#progress, this.#suspect, this.#trials]
    trials?.leave(this.choice)
    const restart = progress.isGuided() && this.inbox.ids().length > 0
    const isPartlySent = restart && this.#wasSent
    const job = this.#dispatched.job()
    const { need, hold } = await this.#deps.recovery(lost, {
      job,
      choice: this.choice,
      shares: this.#shares,
      caller,
      progress,
      suspect,
      trials,
      isPartlySent,
      notStarted: this.#admission.notStarted,
    })
    if (signal.aborted) return this.inbox.close()
    if (restart) this.#output = []
    this.#tokensBefore = restart ? 0 : this.inbox.ids().length
    this.#vectorsBefore = this.#vectorCount
    await this.#dispatched.again({
      need,
      hold,
      restart,
      engineDeaths: suspect.engineDeaths(),
      turn: suspect.isOnTrial() ? trials?.turn(this.choice) : undefined,
    })
  }

  usage() {
    return this.#usage ?? this.#progress.received(this.inbox.ids().length)
  }

  failed(error: unknown) {
    this.#timing.failed(error)
  }

  settle({ outcome, usage }: { outcome: SettlementOutcome; usage: Usage }) {
    this.#stream.close()
    this.#suspect.close()
    this.#trials?.leave(this.choice)
    this.#dispatched.close()
    this.#deps.endGeneration({
      dispatched: this.#dispatched,
      inbox: this.inbox,
      hold: this.#shares.whole(),
      outcome,
      usage,
      deadlineMs: this.#deadlineMs,
      timing: this.#timing.end(this.#end === null ? null : { ...this.#end, usage }),
    })
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
    return this.inbox.ids().length - this.#tokensBefore + this.#vectorCount - this.#vectorsBefore
  }

  #outputSeen() {
    this.#admission.compiled()
    this.#timing.output()
    this.#dispatched.running()
    this.#progress.outputSeen()
    if (!this.#suspect.isOnTrial()) this.#trials?.leave(this.choice)
  }
}
