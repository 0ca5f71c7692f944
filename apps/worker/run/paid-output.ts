/*
 * A hold on a small balance pays for the output that is expected, and grows while the generation runs. The engine is not
 * limited by the hold, because it cannot take up an output again that it has ended. So the worker passes on no token
 * beyond what the hold pays.
 *
 * PAID
 *   Every token so far is passed on. Near the end of what is paid, a larger hold is requested, and again
 *   after 0.5 s and each second until the hold is large enough or an answer is final.
 *   - More tokens come than are paid: UNPAID. If the last answer was final: OVER.
 *
 * UNPAID
 *   The tokens beyond what is paid wait here, in their order; later ones wait behind them. The requests go on.
 *   - A larger hold: the tokens that it pays are passed on. If none is left: PAID.
 *   - A final answer: the tokens that its hold pays are passed on. If others are left: OVER.
 *   - After 3 s without enough money: OVER.
 *
 * OVER
 *   Tokens that wait are dropped, and nobody pays for them. The generation ends with the tokens that were passed on.
 */

/** The gateway's answer to a request for a larger hold. */
export type HoldAnswered = {
  /** The hold as it is now; unchanged if nothing more can be paid. */
  readonly amountNano: string
  /** True if no larger hold will come, so that nothing is gained by waiting. */
  readonly isFinal: boolean
}

/** Token ids, as the engine's client gives them. */
type Ids = readonly number[] | Uint32Array

export type PaidOutput = {
  /** Returns the tokens that may be passed on now, which are the first of these tokens, or none. */
  take(ids: Ids): Ids
  /** The hold now pays this many tokens in all. A smaller number than before changes nothing. */
  raise(paidTokens: number, isFinal: boolean): void
  /** True once the money has ended. */
  isOver(): boolean
  /** Resolves when no token waits: the money has come or has ended. Rejects when the signal is aborted. */
  untilPassedOn(signal: AbortSignal): Promise<void>
  /** Ends the requests. */
  close(): void
}

/** The pauses before a request is repeated. Money that is missing is seldom there a moment later. */
const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 1_000
/** The engine goes on meanwhile, in vain if no money comes; and a restart of billing takes a few seconds. */
const GIVE_UP_MS = 3_000
/** A larger hold is requested when no more than this part of what is paid is left, and at least this many tokens. */
const LEAD_SHARE = 1 / 16
const LEAD_TOKENS = 16
/** How much more is requested. A half of what is paid lets the longest answers grow in few steps. */
const STEP_SHARE = 1 / 2
const STEP_TOKENS = 256

const NONE: Ids = []

export function createPaidOutput(options: {
  /** Tokens that earlier epochs passed on. */
  readonly written: number
  readonly paidTokens: number
  /** The most tokens that the output may have, whatever is paid. */
  readonly mostTokens: number
  /** Requests a hold that pays so many more tokens. */
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

  /** The number of tokens at which a larger hold is requested. */
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
