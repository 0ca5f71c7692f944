import { createFairPot, type PotMember } from '#libs/fair-share/fair-pot.ts'
import { shuttingDown } from '../../retry-after.ts'

/**
 * How a wait for credits ended.
 * - `answered`: the request got a hold, or a refusal because waiting no longer helps.
 * - `over`: the longest allowed wait passed without an answer.
 * - `full`: the line has as many requests as may wait, or the waiting requests take too much memory.
 * - `left`: the caller left, or the gateway stops.
 */
export const CREDIT_WAIT_ENDS = ['answered', 'over', 'full', 'left'] as const
export type CreditWaitEnd = (typeof CREDIT_WAIT_ENDS)[number]

/** The line of an account or of one of its keys. */
export type LineName = { readonly accountId: string; readonly name: string }

/** The knowledge about the credits of one line, which its requests share. */
export type LineNotes<Shortage> = {
  /** Returns the latest refusal; null if it is older than 0.9 s, or if a request was granted since. */
  latest(): Shortage | null
  /** `refused` is billing's latest refusal; null if billing has granted a request. */
  note(refused: Shortage | null): void
}

/** The progress of a wait. `isOver`: this call of `ask` is the last one. */
export type Waited = { readonly waitedMs: number; readonly leftMs: number; readonly isOver: boolean }

/**
 * The requests of this gateway that wait for credits that other running requests hold. Each account and each key has a
 * line of its own, in order of arrival.
 */
export type CreditLine<Shortage> = {
  /** Returns the first of `names` whose line has a waiting request, or null. A new request must wait behind it. */
  open(...names: readonly string[]): string | null
  /**
   * Waits in a line, for at most `mostMs`. The first request of the line calls `ask` once a second until the result is
   * not null, and returns that result. `ask` gets the notes of the line, so that a request whose predecessor was
   * refused a moment ago need not ask billing again. At the end of the wait, and at once if the line is full, `ask` is
   * called with `isOver`, and its result is returned. Returns null if the caller leaves. Rejects with the errors of
   * `ask`, and with `model_unavailable` once the gateway stops. `bytes` is the size of the request, which stays in memory. `refused` is the refusal with which the request
   * joins the line, if it has asked billing.
   */
  wait<Answer>(
    line: LineName,
    wait: {
      readonly signal: AbortSignal
      readonly mostMs: number
      readonly bytes: number
      readonly refused: Shortage | null
    },
    ask: (notes: LineNotes<Shortage>, waited: Waited) => Promise<Answer | null>,
  ): Promise<Answer | null>
  /** Ends all waits, because the gateway stops: the callers may wait at another gateway. */
  stop(): void
}

/** How many requests of one line may wait in this gateway. */
const MAX_WAITING = 64
/**
 * The most memory of all waiting requests together. If the requests take more, the account with the most gives up its
 * youngest wait.
 */
const MOST_BYTES = 64 * 1_048_576
const MOST_BYTES_OF_ACCOUNT = MOST_BYTES / 4
/** The assumed memory of a waiting request, its text apart. */
const WAIT_BYTES = 16_384
/**
 * The pause between two questions of one account to billing. If several lines of an account wait, each line pauses so
 * many times longer.
 */
const PAUSE_MS = 1_000
/** A refusal counts as the latest one for this long. It is shorter than the pause, which a timer may end a moment early. */
const LATEST_MS = 900

type Line<Shortage> = { readonly waiters: Waiter[]; latest: { refused: Shortage; atMs: number } | null }
type Waiter = { readonly first: PromiseWithResolvers<void> }

/**
 * A 402 ends the run of most clients, and a wait does not. So when billing refuses a request only because other
 * requests hold the credits, the request waits for these credits. The requests that wait for the credits of one
 * account, or of one key, form a line. Only the first request of the line asks billing again. So the order of arrival
 * is kept, and billing gets few calls.
 */
export function createCreditLine<Shortage>(options: {
  /** The longest wait of a request. */
  limitMs: number
  onEnd: (end: CreditWaitEnd) => void
  nowMs: () => number
}): CreditLine<Shortage> {
  const { limitMs, onEnd, nowMs } = options
  const lines = new Map<string, Line<Shortage>>()
  const memory = createFairPot<PotMember & { readonly limit: AbortController }>(
    MOST_BYTES,
    MOST_BYTES_OF_ACCOUNT,
  )
  let isStopping = false
  /** The number of lines by account. */
  const counts = new Map<string, number>()

  function join({ accountId, name }: LineName, waiter: Waiter): Line<Shortage> {
    const line = lines.get(name) ?? { waiters: [], latest: null }
    if (line.waiters.length === 0) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
    line.waiters.push(waiter)
    lines.set(name, line)
    return line
  }

  function leave({ accountId, name }: LineName, { waiters }: Line<Shortage>, waiter: Waiter): void {
    waiters.splice(waiters.indexOf(waiter), 1)
    waiters[0]?.first.resolve()
    if (waiters.length > 0) return
    lines.delete(name)
    const count = counts.get(accountId) ?? 1
    if (count > 1) counts.set(accountId, count - 1)
    else counts.delete(accountId)
  }

  const notesOf = (line: Line<Shortage>): LineNotes<Shortage> => ({
    latest: () =>
      line.latest !== null && nowMs() - line.latest.atMs < LATEST_MS ? line.latest.refused : null,
    note: (refused) => void (line.latest = refused === null ? null : { refused, atMs: nowMs() }),
  })

  return {
    open: (...names) => (lines.size === 0 ? null : (names.find((name) => lines.has(name)) ?? null)),

    async wait(place, { signal, mostMs, bytes, refused }, ask) {
      const longestMs = Math.min(limitMs, mostMs)
      const limit = new AbortController()
      let end: CreditWaitEnd = 'over'
      const evict = () => {
        end = 'full'
        limit.abort()
      }
      const member = { owner: place.accountId, evict, limit }
      const full =
        (lines.get(place.name)?.waiters.length ?? 0) >= MAX_WAITING ||
        !memory.take(member, WAIT_BYTES + bytes)
      if (full || longestMs <= 0) {
        memory.leave(member)
        if (full) onEnd('full')
        const line = lines.get(place.name) ?? { waiters: [], latest: null }
        const notes = notesOf(line)
        if (refused !== null) notes.note(refused)
        return await ask(notes, { waitedMs: 0, leftMs: 0, isOver: true })
      }
      const waiter: Waiter = { first: Promise.withResolvers() }
      const line = join(place, waiter)
      const notes = notesOf(line)
      if (refused !== null) notes.note(refused)
      if (line.waiters[0] === waiter) waiter.first.resolve()
      const joinedMs = nowMs()
      const timer = setTimeout(() => limit.abort(), longestMs)
      const over = AbortSignal.any([signal, limit.signal])
      try {
        await unlessOver(waiter.first.promise, over)
        for (;;) {
          if (signal.aborted || isStopping) {
            end = 'left'
            if (isStopping) throw shuttingDown()
            return null
          }
          const waitedMs = nowMs() - joinedMs
          const isOver = limit.signal.aborted
          const answer = await ask(notes, { waitedMs, leftMs: Math.max(0, longestMs - waitedMs), isOver })
          if (answer !== null && !isOver) end = 'answered'
          if (answer !== null || isOver) return answer
          await pause(PAUSE_MS * (counts.get(place.accountId) ?? 1), over)
        }
      } finally {
        clearTimeout(timer)
        memory.leave(member)
        leave(place, line, waiter)
        onEnd(end)
      }
    },

    stop() {
      isStopping = true
      for (const { limit } of memory.members()) limit.abort()
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
