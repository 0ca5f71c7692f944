/*
 * Limits the output of a run to the tokens that are paid. On a small balance, the hold pays for the expected output at
 * first, and grows while the generation runs. The engine is not limited by the hold, because it cannot continue an
 * output that it has ended. Instead the worker passes on only the tokens for which the hold pays. The tokens of all
 * choices are counted in the order in which they come, so the tokens that a short choice leaves pay for the others.
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
 *   Waiting tokens are dropped and not charged. A choice whose tokens waited, or come now, ends with the tokens that were
 *   passed on.
 */

/** The gateway's answer to a request for a larger hold. */
export type HoldAnswered = {
  /** The present amount of the hold; unchanged if billing granted no more. */
  readonly amountNano: string
  /** True if no larger hold will come, so waiting does not help. */
  readonly isFinal: boolean
}

/** Token ids, as the engine's client gives them. */
type Ids = readonly number[] | Uint32Array

/** Passes tokens of one choice on. Returns how many are part of its output: a stop string may come before the last. */
export type PassOn = (ids: Ids) => number

export type PaidOutput = {
  /** Calls `passOn` with the first part of `ids`, which is paid, now, and with the others when they are paid. */
  take(ids: Ids, passOn: PassOn): void
  /** Notes that the hold now pays for this many tokens in all. A smaller number than before is ignored. */
  raise(paidTokens: number, isFinal: boolean): void
  /** True once the output of this choice has ended because its next tokens were not paid. */
  isCut(passOn: PassOn): boolean
  /**
   * Resolves when no token of this choice waits any more: all are paid, or the output is over. Rejects when the signal is
   * aborted.
   */
  untilPassedOn(passOn: PassOn, signal: AbortSignal): Promise<void>
  /** Notes that a choice has ended: its waiting tokens are dropped, and it uses `unusedTokens` less than it might have. */
  leave(passOn: PassOn, unusedTokens: number): void
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
 * tokens, or at most `LEAD_TOKENS` for each choice if that is more.
 */
const LEAD_SHARE = 1 / 16
const LEAD_TOKENS = 16
/**
 * A request for a larger hold asks that the hold pays for this many more tokens: `STEP_SHARE` of the paid tokens, but
 * at least `STEP_TOKENS` for each choice. Because each such request adds half of the paid tokens, a few of them are
 * enough even for the longest answers.
 */
const STEP_SHARE = 1 / 2
const STEP_TOKENS = 256

export function createPaidOutput(options: {
  /** The number of tokens that earlier epochs passed on. */
  readonly written: number
  readonly paidTokens: number
  /** The most tokens that the output may have, whatever is paid. */
  readonly mostTokens: number
  readonly choices: number
  /** Requests a hold that pays for `moreTokens` more tokens. */
  readonly ask: (moreTokens: number) => void
}): PaidOutput {
  const { choices, ask } = options
  let { mostTokens } = options
  let given = options.written
  let paid = options.paidTokens
  let unpaid: { readonly id: number; readonly passOn: PassOn }[] = []
  let isFinal = false
  let over = false
  const cut = new Set<PassOn>()
  let askTimer: NodeJS.Timeout | undefined
  let pauseMs = FIRST_PAUSE_MS
  let giveUpTimer: NodeJS.Timeout | undefined
  let waiters: (() => void)[] = []
  let askFrom = toAskFrom()

  /** Returns the number of passed-on tokens from which a larger hold is requested. */
  function toAskFrom(): number {
    if (paid >= mostTokens || isFinal) return Infinity
    return paid - Math.max(choices * LEAD_TOKENS, Math.floor(paid * LEAD_SHARE))
  }

  function askWhileShort() {
    askTimer = undefined
    if (given < askFrom || over) return
    ask(Math.min(mostTokens - paid, Math.max(choices * STEP_TOKENS, Math.floor(paid * STEP_SHARE))))
    askTimer = setTimeout(askWhileShort, pauseMs)
    pauseMs = LAST_PAUSE_MS
  }

  /** Passes on the waiting tokens that are paid, in their order. */
  function passOnPaid() {
    while (unpaid.length > 0 && given < paid) {
      const taken = unpaid.splice(0, paid - given)
      for (const [passOn, own] of Map.groupBy(taken, (waiting) => waiting.passOn)) {
        given += passOn(own.map(({ id }) => id))
      }
    }
    if (unpaid.length === 0) endWait()
    else if (isFinal) end()
    wake()
  }

  function endWait() {
    clearTimeout(giveUpTimer)
    giveUpTimer = undefined
  }

  function wake() {
    const woken = waiters
    waiters = []
    for (const resolve of woken) resolve()
  }

  function end() {
    over = true
    for (const { passOn } of unpaid) cut.add(passOn)
    unpaid = []
    close()
  }

  function close() {
    clearTimeout(askTimer)
    askTimer = undefined
    endWait()
    wake()
  }

  if (given >= askFrom) askWhileShort()

  return {
    take(ids, passOn) {
      if (over) return void cut.add(passOn)
      if (unpaid.length === 0 && given + ids.length <= paid) {
        given += ids.length
        if (given >= askFrom && askTimer === undefined) askWhileShort()
        given -= ids.length - passOn(ids)
        return
      }
      for (const id of ids) unpaid.push({ id, passOn })
      if (!isFinal && unpaid.length > paid - given) {
        giveUpTimer ??= setTimeout(end, GIVE_UP_MS)
        if (askTimer === undefined) askWhileShort()
      }
      passOnPaid()
    },

    raise(paidTokens, final) {
      if (over) return
      if (paidTokens > paid) pauseMs = FIRST_PAUSE_MS
      paid = Math.max(paid, paidTokens)
      isFinal ||= final
      askFrom = toAskFrom()
      if (unpaid.length > 0) passOnPaid()
    },

    isCut: (passOn) => cut.has(passOn),

    async untilPassedOn(passOn, signal) {
      const isWaiting = () => !signal.aborted && unpaid.some((waiting) => waiting.passOn === passOn)
      if (isWaiting()) signal.addEventListener('abort', wake, { once: true })
      while (isWaiting()) await new Promise<void>((resolve) => waiters.push(resolve))
      signal.throwIfAborted()
    },

    leave(passOn, unusedTokens) {
      unpaid = unpaid.filter((waiting) => waiting.passOn !== passOn)
      mostTokens -= unusedTokens
      askFrom = toAskFrom()
      if (unpaid.length === 0) endWait()
      wake()
    },

    close,
  }
}
