/**
 * How a wait for credits ended.
 * - `answered`: billing granted the request, or refused it for a reason for which waiting does not help.
 * - `over`: the longest allowed wait passed without an answer.
 * - `full`: the line already had as many requests as may wait.
 * - `left`: the caller left.
 */
export const CREDIT_WAIT_ENDS = ['answered', 'over', 'full', 'left'] as const
export type CreditWaitEnd = (typeof CREDIT_WAIT_ENDS)[number]

/**
 * The requests of this gateway that wait for credits that other running requests hold. Each account and each key has a
 * line of its own, in order of arrival.
 */
export type CreditLine = {
  /**
   * Returns the first of `names` whose line has a waiting request, or null. A new request must wait behind that
   * request.
   */
  open(...names: readonly string[]): string | null
  /**
   * Waits in the line `name`. The first request of the line calls `ask` repeatedly until the result is not null, and
   * returns that result. Returns null if the wait ends without a result. Rejects with the errors of `ask`.
   */
  wait<Answer>(name: string, signal: AbortSignal, ask: () => Promise<Answer | null>): Promise<Answer | null>
}

/** How many requests of one line may wait in this gateway. */
const MAX_WAITING = 64
/**
 * The pause between two calls of `ask`. A settled hold is freed within 100 ms, so asking more often would only add
 * load.
 */
const PAUSE_MS = 200

type Waiter = { readonly first: PromiseWithResolvers<void> }

/**
 * Clients give up when they get a 402. So when billing refuses a request only because other requests hold the credits,
 * the request waits a little for these credits, and is refused only if it does not get them. The requests that wait for
 * the credits of one account, or of one key, form a line. Only the first request of the line asks billing again. So the
 * order of arrival is kept, and billing gets few calls.
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
