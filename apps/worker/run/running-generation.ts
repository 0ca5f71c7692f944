import type { Blame, GenerationClaimed, GenerationEvent, Usage } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'
import type { EngineDeaths } from '#libs/generation-record/pack-job.ts'
import type { Span } from '#libs/telemetry/span.ts'

/**
 * Why a running generation is stopped.
 * - `unwanted`: its gateway has asked for it, has settled it, or is cut off from the bus: the rest would not be received.
 * - `gateway-dead`: it cannot be received any more, and this worker settles it.
 * - `worker-stopping`, `engine-lost`: it is handed back, and continues elsewhere.
 */
export type StopReason = 'unwanted' | 'gateway-dead' | 'deadline' | 'worker-stopping' | 'engine-lost'

/** What `claim` answers when there is a generation for this worker. */
export type ClaimedGeneration = Extract<Claim, { readonly status: 'claimed' }>

/** One epoch of a generation in this process, from claim to end. */
export type RunningGeneration = {
  readonly job: GenerationJob
  readonly epoch: number
  /** From claim to end; the steps are its children. */
  readonly span: Span
  /** The output of earlier epochs, which this one continues; empty at a start and a restart. */
  readonly earlierIds: Uint32Array
  /** The prompt's tokens as the first claim counted them; null before it. */
  readonly firstPromptTokens: number | null
  /** What it has used so far, over all epochs. */
  readonly usage: { -readonly [Field in keyof Usage]: Usage[Field] }
  readonly output: Readonly<Output>
  /** Of earlier epochs. */
  readonly engineDeaths: EngineDeaths
  /** Set when its engine has died or hung. */
  blame: Blame
  /** Aborted by `stop`. */
  readonly signal: AbortSignal
  stopReason(): StopReason | null
  stop(reason: StopReason): void
  /** The engine may give as many tokens as this. */
  expectOutput(mostTokens: number): void
  /** The engine has given tokens, or a vector, which has no ids. */
  noteOutput(ids: readonly number[] | Uint32Array): void
  hasOutput(): boolean
  /** As far as this worker knows it, for the settlement of a generation whose gateway is dead. */
  timing(): SettlementTiming
  /** Its claim is published with the first events, or by `sendClaim`. */
  claimed(claim: GenerationClaimed): void
  /** Publishes the claim, unless it is published already. */
  sendClaim(): void
  /**
   * Publishes events that belong together: their gateway receives all of them or none. With them travel the ids of the
   * output that was noted since the last events.
   */
  send(events: readonly GenerationEvent[]): void
  /** Ends it: nothing can be sent afterwards. */
  close(): void
}

/** What the engine has given in this epoch. */
export type Output = {
  tokens: number
  /** How many there can be; null while it is not known. */
  mostTokens: number | null
  firstMs: number | null
  lastMs: number | null
}

/**
 * `send` publishes events of this run, `onClose` is called once. The deadline is counted from now on, in this process'
 * own time: `remainingMs` is what the queue Redis said is left.
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
  /** Their text may still be buffered: half a character, a possible stop string. */
  const unsentIds: number[] = []
  let unsentClaim: GenerationClaimed | null = null
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
    noteOutput(ids) {
      for (const id of ids) unsentIds.push(id)
      output.tokens += ids.length
      output.lastMs = nowMs()
      output.firstMs ??= output.lastMs
    },
    hasOutput: () => output.firstMs !== null,
    timing: () => ({
      // A later epoch began to wait anew.
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
      deps.send([claim], [])
    },
    send(events) {
      if (events.length === 0) return
      run.sendClaim()
      deps.send(events, unsentIds.splice(0))
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
