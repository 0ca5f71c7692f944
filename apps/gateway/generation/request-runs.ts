import type { Usage } from '#libs/contracts/generation-event.ts'
import type { Hold } from '#libs/contracts/generation-job.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import type { Admission } from './admit.ts'
import type { Affinity } from './affinity.ts'
import type { GenerationCall } from './generation-call.ts'
import { createOpenRun, type OpenRun, type Reserved, type Run, type RunDeps } from './generation-run.ts'
import { toFailure, type Failure } from './failure.ts'
import { createHoldShares, type HoldShares } from './hold-shares.ts'
import type { RunningHolds, RunningRequest } from './running-holds.ts'
import { toCharge } from './to-charge.ts'

/**
 * The runs of one request: one for each of its choices. Each choice is a generation with its own record, job and stream,
 * so each goes on by itself after the loss of its worker. What the choices have in common is here:
 * - the hold: it pays for the prompt once, and for the output of all choices (`hold-shares.ts`);
 * - the settlement: the settlement of the first choice has the usage of all, and charges the request. The settlements of
 *   the others only correct the fair order. The usage in each of them is the tokens of the prompt that its engine had to
 *   compute again;
 * - the worker: further choices are offered to the worker of the first one (`affinity.ts`);
 * - the end: the request is complete when all choices are, and fails when one of them fails.
 */
export type RequestRuns = {
  /**
   * Queues the generations: first the generation of the first choice, whose record admits the request, then the others.
   * Returns how many generations wait before the first; null if the number is unknown. Throws `model_busy` or
   * `model_unavailable`.
   */
  queue(): Promise<number | null>
  /**
   * Calls `receive` for each run at once. Resolves when all calls have resolved. If one call rejects, the inboxes of
   * the other runs are closed, so these runs read only the events that their inboxes have already accepted. The promise
   * rejects with the error of the call after the calls for the other runs have ended.
   */
  untilReceived(receive: (run: Run) => Promise<void>): Promise<void>
  /** Returns the number of output tokens that were received. */
  tokens(): number
  /** Records a failure. What the request then costs: see `failure.ts`. A caller who had left before pays as usual. */
  fail(error: unknown): void
  /** Ends all generations. Must be called once. Returns the usage of the complete output, else null. */
  settle(): Usage | null
}

export type OpenRuns = (call: GenerationCall, reserved: ReservedRequest) => RequestRuns

type ReservedRequest = Omit<Reserved, 'choice' | 'shares' | 'seating' | 'toEndUsage'> & {
  readonly hold: Hold
}

/** `showsCost` is true if answers include their cost. */
export function createOpenRuns({
  showsCost,
  openSeating,
  enterHold,
  ...deps
}: RunDeps & Omit<RequestDeps, 'openRun'>): OpenRuns {
  const openRun = createOpenRun(deps)
  return (call, reserved) => new Runs({ openRun, openSeating, enterHold, showsCost }, call, reserved)
}

type RequestDeps = {
  readonly openRun: OpenRun
  readonly openSeating: Affinity['open']
  readonly enterHold: RunningHolds['enter']
  readonly showsCost: boolean
}

/** A class, because a gateway has one object for each request that it runs. */
class Runs implements RequestRuns, RunningRequest {
  readonly call: GenerationCall
  readonly #showsCost: boolean
  readonly #shares: HoldShares
  readonly #first: Run
  readonly #others: readonly Run[]
  readonly #leaveHolds: () => void
  #failure: Failure | null = null

  constructor(
    { openRun, openSeating, enterHold, showsCost }: RequestDeps,
    call: GenerationCall,
    { hold, admission, ...reserved }: ReservedRequest,
  ) {
    const { choices = 1 } = call
    this.call = call
    this.#showsCost = showsCost
    const shares = createHoldShares(hold, choices)
    this.#shares = shares
    const seating = openSeating(call)
    let running = choices
    // The end of the last choice reports the usage of the request. Each other end reports its own usage.
    const toEndUsage = (own: Usage) => ((running -= 1) === 0 ? this.#usage() : own)
    const open = (choice: number, of: Admission) =>
      openRun(call, { ...reserved, choice, admission: of, shares, seating, toEndUsage })
    this.#first = open(0, admission)
    this.#others = Array.from({ length: choices - 1 }, (_, index) => open(index + 1, toOther(admission)))
    this.#leaveHolds = enterHold(this)
  }

  async queue() {
    const ahead = await this.#first.queue()
    if (this.call.signal.aborted) return ahead
    await untilEach(this.#others.map(async (run) => await run.queue()))
    return ahead
  }

  async untilReceived(receive: (run: Run) => Promise<void>) {
    const all = this.#all()
    await untilEach(
      all.map(async (run) => {
        try {
          await receive(run)
        } catch (error) {
          for (const other of all) other.inbox.close()
          throw error
        }
      }),
    )
  }

  tokens() {
    return this.#all().reduce((sum, run) => sum + run.inbox.ids().length, 0)
  }

  used() {
    const hold = this.#shares.whole()
    return {
      amountNano: BigInt(hold.amountNano),
      usedNano: toCharge(this.#usage(), hold) ?? 0n,
      tokens: this.tokens(),
    }
  }

  fail(error: unknown) {
    // A caller who had left before the failure pays for the received output.
    if (this.call.signal.aborted) return
    this.#failure = toFailure(error)
  }

  settle() {
    this.#leaveHolds()
    const isComplete = this.#all().every((run) => run.isComplete())
    const usage = this.#usage()
    const { outcome, isUsed } = this.#toEnding(isComplete, usage)
    this.#first.settle({ outcome, usage: isUsed ? usage : NO_USAGE })
    for (const run of this.#others)
      run.settle({ outcome, usage: isUsed ? toComputedPrompt(run.usage()) : NO_USAGE })
    return isComplete ? usage : null
  }

  #toEnding(isComplete: boolean, usage: Usage): { outcome: SettlementOutcome; isUsed: boolean } {
    switch (this.#failure) {
      case null:
        return { outcome: isComplete ? 'completed' : 'cancelled', isUsed: true }
      case 'of-caller':
        return { outcome: 'cancelled', isUsed: true }
      case 'of-service':
        return { outcome: 'fault', isUsed: false }
      case 'refused':
        return { outcome: 'fault', isUsed: hasOutput(usage, this.call) }
      case 'unknown':
        return { outcome: 'fault', isUsed: true }
    }
  }

  #all(): readonly Run[] {
    return [this.#first, ...this.#others]
  }

  /** Returns the usage of all choices, as far as their output was received. */
  #usage(): Usage {
    const usage = sumUsage(this.#all().map((run) => run.usage()))
    const costNano = this.#showsCost ? toCharge(usage, this.#shares.whole()) : null
    return costNano === null ? usage : { ...usage, costNano }
  }
}

const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }

/**
 * Returns the usage of a request: its prompt once, and the output of all choices. A choice may find the prompt in the
 * cache because another choice has run on the same engine. So the smallest number of cached tokens among the choices
 * with output counts: each of these choices has found so many, so an earlier request had left these tokens.
 */
function sumUsage(ofChoices: readonly Usage[]): Usage {
  const [only, ...others] = ofChoices
  if (only === undefined) return NO_USAGE
  if (others.length === 0) return only
  const sum = (field: 'completionTokens' | 'reasoningTokens') =>
    ofChoices.reduce((tokens, usage) => tokens + usage[field], 0)
  const promptTokens = ofChoices.find((usage) => usage.promptTokens > 0)?.promptTokens ?? 0
  const withOutput = ofChoices.filter((usage) => usage.completionTokens > 0)
  const cachedTokens = Math.min(promptTokens, ...withOutput.map((usage) => usage.cachedTokens))
  return {
    promptTokens,
    cachedTokens: withOutput.length === 0 ? 0 : cachedTokens,
    completionTokens: sum('completionTokens'),
    reasoningTokens: sum('reasoningTokens'),
  }
}

/** An embedding has prompt tokens in its usage only if vectors were received. */
const hasOutput = ({ promptTokens, completionTokens }: Usage, { request }: GenerationCall) =>
  completionTokens > 0 || (request.kind === 'embedding' && promptTokens > 0)

/** Returns the usage of a further choice for the fair order: the prompt's tokens that were not cached. */
function toComputedPrompt({ promptTokens, cachedTokens }: Usage): Usage {
  return { ...NO_USAGE, promptTokens: Math.max(0, promptTokens - cachedTokens) }
}

/**
 * Returns the admission of a further choice. The gateway learns how long requests wait from their first choices only.
 * And only the first choice must be claimed in the time that the client allows for its model's start: the engine that
 * has started may be too small for all choices at once.
 */
const toOther = ({ startWait, ...admission }: Admission): Admission => ({
  ...admission,
  place: admission.choicePlace,
  startWait: startWait === null ? null : { ...startWait, leftMs: () => Infinity },
  queued: () => undefined,
  claimed: () => undefined,
})

/** Resolves when all promises have settled. Rejects then if one of them has, with the error of the first in the list. */
async function untilEach(promises: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(promises)
  await Promise.all(promises)
}
