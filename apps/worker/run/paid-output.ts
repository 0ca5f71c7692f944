import type { HoldShare } from '#libs/contracts/generation-job.ts'

/*
 * Limits the output of a run to the tokens that are paid. On a small balance, the hold pays for the expected output at
 * first, and grows while the generation runs. The engine is not limited by the hold, because it cannot continue an
 * output that it has ended. Instead the worker passes on only the tokens for which the hold pays.
 *
 * PAID
 *   Every token so far is passed on. When few paid tokens are left, the worker requests a larger hold from the gateway.
 *   It repeats the request after 0.5 s and then each second, until the hold is large enough or an answer of the gateway
 *   is final.
 *   - More tokens come than are paid: OVER if the last answer was final, otherwise UNPAID.
 *
 * UNPAID
 *   The tokens that are not paid wait here in their order, and later tokens wait behind them. The requests go on.
 *   - A larger hold: the tokens for which it pays are passed on. If no token waits any more: PAID.
 *   - A final answer: the tokens for which its hold pays are passed on. If tokens still wait: OVER.
 *   - 3 s after the first token began to wait: OVER.
 *
 * OVER
 *   Waiting tokens are dropped and not charged. The generation ends with the tokens that were passed on.
 */

/** The gateway's answer to a request for a larger hold. */
export type HoldAnswered = {
  /** The present amount of the hold; unchanged if billing granted no more. */
  readonly amountNano: string
  /** The present share of this choice, if several choices share the hold; else absent. */
  readonly share?: HoldShare | undefined
  /** True if no larger hold will come, so waiting does not help. */
  readonly isFinal: boolean
}

/** Token ids, as the engine's client gives them. */
type Ids = readonly number[] | Uint32Array

export type PaidOutput = {
  /** Returns the first part of `ids`, which may be passed on now; empty if none may. */
  take(ids: Ids): Ids
  /** Notes that the hold now pays for this many tokens in all. A smaller number than before is ignored. */
  raise(paidTokens: number, isFinal: boolean): void
  /** True once the output has ended because its tokens were not paid. */
  isOver(): boolean
  /** Resolves when no token waits any more: all are paid, or the output is over. Rejects when the signal is aborted. */
  untilPassedOn(signal: AbortSignal): Promise<void>
  /** Ends the requests for a larger hold. */
  close(): void
}

/** The pauses before a request for a larger hold is repeated. Missing credits seldom come within a shorter time. */
const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 1_000
/**
 * How long tokens wait to be paid. The time covers a restart of billing, which takes a few seconds. It is not longer,
 * because the engine goes on meanwhile, and its work is lost if no credits come.
 */
const GIVE_UP_MS = 3_000
/**
 * A larger hold is requested when few of the paid tokens are still to be passed on: at most `LEAD_SHARE` of all paid
 * tokens, or at most `LEAD_TOKENS` if that is more.
 */
const LEAD_SHARE = 1 / 16
const LEAD_TOKENS = 16
/**
 * A request for a larger hold asks that the hold pays for this many more tokens: `STEP_SHARE` of the paid tokens, but
 * at least `STEP_TOKENS`. Because each such request adds half of the paid tokens, a few of them are enough even for the
 * longest answers.
 */
const STEP_SHARE = 1 / 2
const STEP_TOKENS = 256

const NONE: Ids = []

export function createPaidOutput(options: {
  /** The number of tokens that earlier epochs passed on. */
  readonly written: number
  readonly paidTokens: number
  /** The most tokens that the output may have, whatever is paid. */
  readonly mostTokens: number
  /** Requests a hold that pays for `moreTokens` more tokens. */
  readonly ask: (moreTokens: number) => void
  /** Called with tokens that have waited, once they are paid. */
  readonly onPaid: (ids: Ids) => void
}): PaidOutput {
  const { mostTokens, ask, onPaid } = options
  let given = options.written
  let paid = options.paidTokens
  let unpaid: number[] = []
  let isFinal = false
  let over = false
  let askTimer: NodeJS.Timeout | undefined
  let pauseMs = FIRST_PAUSE_MS
  let giveUpTimer: NodeJS.Timeout | undefined
  let onPassedOn: (() => void) | null = null
  let askFrom = toAskFrom()

  /** Returns the number of passed-on tokens from which a larger hold is requested. */
  function toAskFrom(): number {
    if (paid >= mostTokens || isFinal) return Infinity
    return paid - Math.max(LEAD_TOKENS, Math.floor(paid * LEAD_SHARE))
  }

  function askWhileShort() {
    askTimer = undefined
    if (given < askFrom || over) return
    ask(Math.min(mostTokens - paid, Math.max(STEP_TOKENS, Math.floor(paid * STEP_SHARE))))
    askTimer = setTimeout(askWhileShort, pauseMs)
    pauseMs = LAST_PAUSE_MS
  }

  function passOn(count: number): Ids {
    const ids = unpaid.slice(0, count)
    unpaid = unpaid.slice(count)
    given += ids.length
    return ids
  }

  function end() {
    over = true
    unpaid = []
    close()
  }

  function close() {
    clearTimeout(askTimer)
    clearTimeout(giveUpTimer)
    askTimer = undefined
    giveUpTimer = undefined
    onPassedOn?.()
  }

  if (given >= askFrom) askWhileShort()

  return {
    take(ids) {
      if (over) return NONE
      if (unpaid.length === 0 && given + ids.length <= paid) {
        given += ids.length
        if (given >= askFrom && askTimer === undefined) askWhileShort()
        return ids
      }
      for (const id of ids) unpaid.push(id)
      const taken = passOn(Math.max(0, paid - given))
      if (isFinal) end()
      else {
        giveUpTimer ??= setTimeout(end, GIVE_UP_MS)
        if (askTimer === undefined) askWhileShort()
      }
      return taken
    },

    raise(paidTokens, final) {
      if (over) return
      if (paidTokens > paid) pauseMs = FIRST_PAUSE_MS
      paid = Math.max(paid, paidTokens)
      isFinal ||= final
      askFrom = toAskFrom()
      if (unpaid.length === 0) return
      const taken = passOn(Math.max(0, paid - given))
      if (unpaid.length === 0) {
        clearTimeout(giveUpTimer)
        giveUpTimer = undefined
        onPassedOn?.()
      } else if (isFinal) end()
      if (taken.length > 0) onPaid(taken)
    },

    isOver: () => over,

    async untilPassedOn(signal) {
      signal.throwIfAborted()
      if (unpaid.length === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      onPassedOn = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      signal.throwIfAborted()
    },

    close,
  }
}
