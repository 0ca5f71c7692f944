import type { Logger } from '#libs/telemetry/logger.ts'
import type { TicketPull } from '#libs/ticket-queue/pull-tickets.ts'
import type { Slots } from './slots.ts'

/**
 * Something was claimed; `ended` resolves when it needs its slot no more, and never rejects. `waiting`: how many more
 * waited then that this worker serves.
 */
export type Taken = { readonly ended: Promise<unknown>; readonly waiting: number }

export type Pull = {
  /** Whether this worker may pull has changed. */
  follow(): void
  close(): Promise<void>
}

const LOOK_MS = 1_000
/** A claim without an answer for so long: Redis is away, and more claims would only wait beside it. */
const STUCK_MS = 500
/** A full worker wakes another one at most this often: what it woke goes on by itself, as its claims' answers say more. */
const WAKE_EVERY_MS = 250

/**
 * Claims generations while there is room for them: each claim takes its slot before it is sent, so there are never more
 * claims than free slots.
 *
 * A ticket makes one worker claim at once. A claim's answer says how many more wait, and claims for half of them follow at
 * once, without tickets, as far as there is room: so tickets that coincide are one wake-up, a burst needs a few round
 * trips, and the workers that it woke share it instead of one engine having it all. A worker that is full waits for no
 * tickets; it claims when it has room again. Where it is full and more wait, it wakes another worker, and so it does with
 * a ticket that reaches it when it cannot use it; only workers with room wait for that.
 *
 * Tickets are not relied on: a worker with room and without a claim in hand claims each second as well.
 */
export function createPull(deps: {
  /** Claims one generation and begins to run it; null when nothing waits. */
  takeNext: () => Promise<Taken | null>
  slots: Slots
  mayPull: () => boolean
  tickets: TicketPull
  nowMs: () => number
  log: Logger
}): Pull {
  const { takeNext, slots, mayPull, tickets, nowMs, log } = deps
  /** Claims without an answer. */
  let claiming = 0
  let answeredMs = 0
  /** A claim has filled the last slot; what came since may have woken no worker. */
  let filled = false
  let passing = false
  let wokeMs = -Infinity
  const closing = new AbortController()
  let changed = Promise.withResolvers<void>()

  /** Begins as many claims as there is room for, at most `count`. */
  function take(count: number): void {
    for (let begun = 0; begun < count && canTake(); begun += 1) void takeOne()
  }

  const canTake = () => !closing.signal.aborted && mayPull() && slots.isFree()

  async function takeOne(): Promise<void> {
    const leave = slots.take()
    if (claiming === 0) answeredMs = nowMs()
    claiming += 1
    const taken = await takeNext().catch((error: unknown) => {
      log.error({ err: error }, 'the record did not answer a claim')
      return null
    })
    claiming -= 1
    answeredMs = nowMs()
    if (taken === null) leave()
    else goOn(taken, leave)
  }

  function goOn({ ended, waiting }: Taken, leave: () => void): void {
    void ended.finally(() => {
      leave()
      if (!filled) return
      filled = false
      take(1)
    })
    // The claims in hand take some of them.
    const more = waiting - claiming
    take(Math.ceil(more / 2))
    if (slots.isFree()) return
    filled = true
    if (more <= 0 || nowMs() - wokeMs < WAKE_EVERY_MS) return
    wokeMs = nowMs()
    pass()
  }

  function pass(): void {
    if (passing || closing.signal.aborted) return
    passing = true
    tickets
      .pass()
      .catch((error: unknown) => log.warn({ err: error }, 'no other worker was woken'))
      .finally(() => (passing = false))
  }

  async function waitForTickets(): Promise<void> {
    while (!closing.signal.aborted) {
      await slots.room()
      if (!mayPull()) {
        await changed.promise
        continue
      }
      await tickets.next()
      if (closing.signal.aborted) return
      if (!canTake()) pass()
      else if (claiming === 0 || nowMs() - answeredMs < STUCK_MS) take(1)
    }
  }

  function wake(): void {
    changed.resolve()
    changed = Promise.withResolvers()
  }

  const timer = setInterval(() => {
    wake()
    if (claiming === 0) take(1)
  }, LOOK_MS)
  void waitForTickets()

  return {
    follow: wake,
    async close() {
      closing.abort()
      clearInterval(timer)
      wake()
      await tickets.close()
    },
  }
}
