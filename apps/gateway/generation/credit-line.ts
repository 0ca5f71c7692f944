/**
 * How a wait for credits ended.
 * - `answered`: billing granted the request, or refused it for another reason than credits that others hold.
 * - `over`: as long a wait as is allowed did not help.
 * - `full`: as many requests as may wait were waiting already.
 * - `left`: the caller left.
 */
export const CREDIT_WAIT_ENDS = ['answered', 'over', 'full', 'left'] as const
export type CreditWaitEnd = (typeof CREDIT_WAIT_ENDS)[number]

/** Requests that wait for credits which other running requests hold, in order of arrival. */
export type CreditLine = {
  /** Returns the first of these lines in which a request waits; null if none. A new request waits behind it. */
  open(...names: readonly string[]): string | null
  /**
   * Calls `ask` until it returns something, and returns that; null when the wait is over. Only the first request of a
   * line asks. Rejects with the errors of `ask`.
   */
  wait<Answer>(name: string, signal: AbortSignal, ask: () => Promise<Answer | null>): Promise<Answer | null>
}

/** How many requests of one line may wait in this gateway. */
const MAX_WAITING = 64
/** Settled holds are freed within a tenth of a second; asking more often would only cost. */
const PAUSE_MS = 200

type Waiter = { readonly first: PromiseWithResolvers<void> }

/**
 * A 402 is an answer that clients give up at, so a request that is refused only because others hold the credits waits a
 * little. Asking one after the other keeps the order, and keeps the calls of billing few.
 */
export function createCreditLine(options: {
  /** The longest wait of a request. */
  limitMs: number
  onEnd: (end: CreditWaitEnd) => void
}): CreditLine {
  const { limitMs, onEnd } = options
  const lines = new Map<string, Waiter[]>()

  function leave(name: string, line: Waiter[], waiter: Waiter): void {
    line.splice(line.indexOf(waiter), 1)
    if (line.length === 0) lines.delete(name)
    line[0]?.first.resolve()
  }

  return {
    open: (...names) => (lines.size === 0 ? null : (names.find((name) => lines.has(name)) ?? null)),

    async wait(name, signal, ask) {
      if (limitMs === 0) return null
      const line = lines.get(name) ?? []
      if (line.length >= MAX_WAITING) {
        onEnd('full')
        return null
      }
      const waiter: Waiter = { first: Promise.withResolvers() }
      const isFirst = line.length === 0
      line.push(waiter)
      lines.set(name, line)
      const limit = new AbortController()
      const timer = setTimeout(() => limit.abort(), limitMs)
      const over = AbortSignal.any([signal, limit.signal])
      let end: CreditWaitEnd = 'over'
      try {
        if (isFirst) await pause(PAUSE_MS, over)
        else await unlessOver(waiter.first.promise, over)
        while (!over.aborted) {
          const answer = await ask()
          if (answer !== null) {
            end = 'answered'
            return answer
          }
          await pause(PAUSE_MS, over)
        }
        if (signal.aborted) end = 'left'
        return null
      } finally {
        clearTimeout(timer)
        leave(name, line, waiter)
        onEnd(end)
      }
    },
  }
}

async function pause(ms: number, over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await unlessOver(promise, over)
  clearTimeout(timer)
}

/** Resolves when the promise resolves or the signal is aborted. */
async function unlessOver(promise: Promise<void>, over: AbortSignal): Promise<void> {
  if (over.aborted) return
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const onAbort = () => resolve()
  over.addEventListener('abort', onAbort, { once: true })
  await Promise.race([promise, aborted])
  over.removeEventListener('abort', onAbort)
}
