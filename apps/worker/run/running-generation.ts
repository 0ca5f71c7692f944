import type {
  Blame,
  GenerationClaimed,
  GenerationEnd,
  GenerationEvent,
  TokenLogprob,
  Usage,
} from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'
import type { HoldAnswered } from './paid/paid-output.ts'
import type { Span } from '#libs/telemetry/span.ts'

/**
 * The reasons for which a running generation is stopped:
 * - `unwanted`: the gateway of the generation has asked for the stop, has settled the generation, or is cut off from
 *   the bus and would not receive the rest.
 * - `gateway-dead`: the gateway of the generation is dead, and this worker settles the generation.
 * - `deadline`: the generation has reached its deadline.
 * - `worker-stopping`, `engine-lost`: the generation is handed back, and continues elsewhere.
 */
export type StopReason = 'unwanted' | 'gateway-dead' | 'deadline' | 'worker-stopping' | 'engine-lost'

/** The answer of `claim` if there is a generation for this worker. */
export type ClaimedGeneration = Extract<Claim, { readonly status: 'claimed' }>

/** One epoch of a generation in this process, from claim to end. */
export type RunningGeneration = {
  readonly job: GenerationJob
  readonly epoch: number
  /** The span from claim to end; the spans of the steps are its children. */
  readonly span: Span
  /** The choices of the request, in their order. A request for one answer has one; so has an embedding. */
  readonly choices: readonly [RunningChoice, ...RunningChoice[]]
  /** The number of output ids of earlier epochs, of all choices; 0 at a start. */
  readonly earlierTokens: number
  /** The number of prompt tokens that was counted at the first claim; null if no worker has counted them yet. */
  readonly firstPromptTokens: number | null
  /** The usage of the input so far. */
  readonly usage: { promptTokens: number; cachedTokens: number }
  /** The output of all choices. */
  readonly output: Readonly<Output>
  /** The engine deaths at which the generation was present in earlier epochs. */
  readonly engineDeaths: number
  /** Set when the engine has died or hung. */
  blame: Blame
  /** Called with the gateway's answer to a request for a larger hold; null until a larger hold may be requested. */
  onHold: ((answered: HoldAnswered) => void) | null
  /** Aborted by `stop`. */
  readonly signal: AbortSignal
  stopReason(): StopReason | null
  stop(reason: StopReason): void
  /** Notes how many more tokens the engine may give. */
  expectOutput(moreTokens: number): void
  /** Notes that the engine has given a vector. */
  noteVector(): void
  hasOutput(): boolean
  /** The timing as far as this worker knows it, to settle a generation whose gateway is dead. */
  timing(): SettlementTiming
  /** Notes the claim, which is published with the first events, or by `sendClaim`. */
  claimed(claim: GenerationClaimed): void
  /** Publishes the claim, unless it is published already. */
  sendClaim(): void
  /** Publishes events that are not the output of a certain choice, as `send` of the choice that has sent last. */
  send(events: readonly GenerationEvent[]): void
  /**
   * Publishes how many tokens of the prompt the engine was given, for a gateway whose caller has left. For a gateway
   * whose caller has not left, the event hands the generation back. A chat whose claim was published needs no report:
   * its gateway knows the prompt.
   */
  report(): void
  /** Ends the run: nothing can be sent afterwards. */
  close(): void
}

/** One choice of a generation in this epoch. */
export type RunningChoice = {
  readonly number: number
  /** The output ids of earlier epochs, after which this epoch continues; empty at a start and a restart. */
  readonly earlierIds: Uint32Array
  /** True if the choice has ended, in this epoch or an earlier one. */
  isEnded(): boolean
  /** When the engine gave the first output of this epoch; null before. */
  firstMs(): number | null
  /** The output tokens so far, over all epochs. */
  tokens(): number
  /** Notes that the engine has given tokens. `logprobs` has an entry for each id if the request asks for them. */
  noteOutput(ids: readonly number[] | Uint32Array, logprobs?: readonly TokenLogprob[]): void
  /**
   * Publishes events that belong together: the gateway receives all of them or none. The token ids and log
   * probabilities of this choice that were noted since its previous call of `send` are sent with these events. Log
   * probabilities are sent even if `events` is empty.
   */
  send(events: readonly GenerationEvent[]): void
  /** Publishes the last events of the choice with its end, which is the end of the generation if no choice is left. */
  end(events: readonly GenerationEvent[], end: ChoiceEnding): void
}

export type ChoiceEnding = Pick<GenerationEnd, 'finishReason' | 'stopString'> & {
  readonly reasoningTokens: number
}

/** The output of the engine in this epoch. */
export type Output = {
  tokens: number
  /** The most tokens that the engine may give; null while it is not known. */
  mostTokens: number | null
  firstMs: number | null
  lastMs: number | null
}

/**
 * Creates a run. `send` publishes its events; `onClose` is called once. The deadline is `remainingMs` from now, by this
 * process's own clock. `remainingMs` is the time until the deadline as the clock of the queue Redis measured it at the
 * claim.
 */
export function createRun(
  claim: ClaimedGeneration,
  deps: {
    send: (events: readonly GenerationEvent[], ids: readonly number[]) => void
    /** Called when a choice has ended before the last one. */
    onChoiceEnd: () => void
    onClose: () => void
    span: Span
    nowMs: () => number
  },
): RunningGeneration {
  const { nowMs, onChoiceEnd, onClose, span } = deps
  const { job, epoch, ids, promptTokens, engineDeaths, remainingMs, waitedMs } = claim
  const abort = new AbortController()
  const output: Output = { tokens: 0, mostTokens: null, firstMs: null, lastMs: null }
  let unsentClaim: GenerationClaimed | null = null
  let hasSentClaim = false
  let reason: StopReason | null = null
  let closed = false
  const claimedMs = nowMs()
  const [first = { ids, ended: false }, ...others] = toEarlierOutputs(claim)
  const choices: RunningGeneration['choices'] = [
    openChoice(first, 0),
    ...others.map((earlier, index) => openChoice(earlier, index + 1)),
  ]
  /** The choice that has sent last. */
  let [present] = choices

  function noteOutput(tokens: number): number {
    const now = nowMs()
    output.tokens += tokens
    output.lastMs = now
    output.firstMs ??= now
    return now
  }

  function openChoice({ ids: earlierIds, ended }: EarlierOutput, number: number): RunningChoice {
    /**
     * The token ids of the output that the engine has written since events were last sent. Their text may still be
     * buffered, because it is half a character or may begin a stop string.
     */
    const unsentIds: number[] = []
    let unsentLogprobs: readonly TokenLogprob[] = []
    let tokens = earlierIds.length
    let firstMs: number | null = null
    let isEnded = ended

    const choice: RunningChoice = {
      number,
      earlierIds,
      isEnded: () => isEnded,
      firstMs: () => firstMs,
      tokens: () => tokens,
      noteOutput(more, logprobs = []) {
        if (logprobs.length > 0) unsentLogprobs = [...unsentLogprobs, ...logprobs]
        for (const id of more) unsentIds.push(id)
        tokens += more.length
        const now = noteOutput(more.length)
        firstMs ??= now
      },
      send(events) {
        const listed = unsentLogprobs
        if (events.length === 0 && listed.length === 0) return
        unsentLogprobs = []
        run.sendClaim()
        const all =
          listed.length === 0 ? events : [{ type: 'token-logprobs', tokens: listed } as const, ...events]
        deps.send(
          present === choice ? all : [{ type: 'choice', choice: number }, ...all],
          unsentIds.splice(0),
        )
        present = choice
      },
      end(events, { reasoningTokens, ...end }) {
        isEnded = true
        const isLast = choices.every((each) => each.isEnded())
        const usage: Usage = { ...run.usage, completionTokens: tokens, reasoningTokens }
        choice.send([...events, { type: isLast ? 'generation-end' : 'choice-end', ...end, usage }])
        if (!isLast) onChoiceEnd()
      },
    }
    return choice
  }

  const run: RunningGeneration = {
    job,
    epoch,
    span,
    choices,
    earlierTokens: ids.length,
    firstPromptTokens: promptTokens,
    usage: { promptTokens: 0, cachedTokens: 0 },
    output,
    engineDeaths,
    blame: 'none',
    onHold: null,
    signal: abort.signal,
    stopReason: () => reason,
    stop(why) {
      if (reason !== null || closed) return
      reason = why
      abort.abort()
    },
    expectOutput(moreTokens) {
      output.mostTokens = (output.mostTokens ?? 0) + moreTokens
    },
    noteVector: () => void noteOutput(0),
    hasOutput: () => output.firstMs !== null,
    timing: () => ({
      // In a later epoch, `waitedMs` counts only from the time at which the generation was queued again. So the whole
      // wait is unknown.
      waitedMs: epoch === 1 ? waitedMs : null,
      ahead: null,
      firstTokenMs: epoch === 1 && output.firstMs !== null ? output.firstMs - claimedMs : null,
      ranMs: output.firstMs === null || output.lastMs === null ? null : output.lastMs - output.firstMs,
      finishReason: null,
      errorCode: null,
      reasoningTokens: null,
      streamed: null,
    }),
    claimed(claim) {
      unsentClaim = { ...claim, waitedMs }
    },
    sendClaim() {
      if (unsentClaim === null) return
      const claim = unsentClaim
      unsentClaim = null
      hasSentClaim = true
      deps.send([claim], [])
    },
    send: (events) => present.send(events),
    report() {
      if (hasSentClaim && job.request.kind === 'chat') return
      const { promptTokens } = run.usage
      const declined = { type: 'generation-declined', reason: 'worker-stopping', promptTokens } as const
      deps.send([{ ...declined, requirement: '', blame: 'none' }], [])
    },
    close() {
      if (closed) return
      closed = true
      clearTimeout(deadline)
      onClose()
    },
  }
  const deadline = setTimeout(() => run.stop('deadline'), Math.max(0, remainingMs))
  if (remainingMs <= 0) run.stop('deadline')
  return run
}

type EarlierOutput = { readonly ids: Uint32Array; readonly ended: boolean }

/** Returns the output of earlier epochs for each choice of the job. */
function toEarlierOutputs({ job, ids, choices }: ClaimedGeneration): EarlierOutput[] {
  const states = choices ?? [{ count: ids.length, ended: false }]
  let at = 0
  return Array.from({ length: job.choices ?? 1 }, (_, number) => {
    const { count = 0, ended = false } = states[number] ?? {}
    return { ids: ids.subarray(at, (at += count)), ended }
  })
}
