import type {
  Blame,
  GenerationClaimed,
  GenerationEvent,
  TokenLogprob,
  Usage,
} from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'
import type { HoldAnswered } from './paid-output.ts'
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
  /** The output ids of earlier epochs, after which this epoch continues; empty at a start and a restart. */
  readonly earlierIds: Uint32Array
  /** The number of prompt tokens that was counted at the first claim; null if no worker has counted them yet. */
  readonly firstPromptTokens: number | null
  /** The generation's usage so far, over all epochs. */
  readonly usage: { -readonly [Field in keyof Usage]: Usage[Field] }
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
  /** Notes how many tokens the engine may give. */
  expectOutput(mostTokens: number): void
  /**
   * Notes that the engine has given tokens, or a vector, which has no ids. `logprobs` has an entry for each id if the
   * request asks for log probabilities.
   */
  noteOutput(ids: readonly number[] | Uint32Array, logprobs?: readonly TokenLogprob[]): void
  hasOutput(): boolean
  /** The timing as far as this worker knows it, to settle a generation whose gateway is dead. */
  timing(): SettlementTiming
  /** Notes the claim, which is published with the first events, or by `sendClaim`. */
  claimed(claim: GenerationClaimed): void
  /** Publishes the claim, unless it is published already. */
  sendClaim(): void
  /**
   * Publishes events that belong together: the gateway receives all of them or none. The token ids and log
   * probabilities that were noted since the previous call of `send` are sent with these events. Log probabilities are
   * sent even if `events` is empty.
   */
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
  { job, epoch, ids, promptTokens, engineDeaths, remainingMs, waitedMs }: ClaimedGeneration,
  deps: {
    send: (events: readonly GenerationEvent[], ids: readonly number[]) => void
    onClose: () => void
    span: Span
    nowMs: () => number
  },
): RunningGeneration {
  const { nowMs, onClose, span } = deps
  const abort = new AbortController()
  const output: Output = { tokens: 0, mostTokens: null, firstMs: null, lastMs: null }
  /**
   * The token ids of the output that the engine has written since events were last sent. Their text may still be
   * buffered, because it is half a character or may begin a stop string.
   */
  const unsentIds: number[] = []
  let unsentLogprobs: readonly TokenLogprob[] = []
  let unsentClaim: GenerationClaimed | null = null
  let hasSentClaim = false
  let reason: StopReason | null = null
  let closed = false
  const claimedMs = nowMs()

  const run: RunningGeneration = {
    job,
    epoch,
    span,
    earlierIds: ids,
    firstPromptTokens: promptTokens,
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
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
    expectOutput(mostTokens) {
      output.mostTokens = mostTokens
    },
    noteOutput(ids, logprobs = []) {
      if (logprobs.length > 0) unsentLogprobs = [...unsentLogprobs, ...logprobs]
      for (const id of ids) unsentIds.push(id)
      output.tokens += ids.length
      output.lastMs = nowMs()
      output.firstMs ??= output.lastMs
    },
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
    send(events) {
      const tokens = unsentLogprobs
      if (events.length === 0 && tokens.length === 0) return
      unsentLogprobs = []
      run.sendClaim()
      const all = tokens.length === 0 ? events : [{ type: 'token-logprobs', tokens } as const, ...events]
      deps.send(all, unsentIds.splice(0))
    },
    report() {
      if (hasSentClaim && job.request.kind === 'chat') return
      const { promptTokens } = run.usage
      const declined = { type: 'generation-declined', reason: 'worker-stopping', promptTokens } as const
      deps.send([{ ...declined, need: '', blame: 'none' }], [])
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
