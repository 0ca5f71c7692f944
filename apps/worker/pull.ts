import type { Logger } from '#libs/telemetry/logger.ts'
import type { TicketPull } from '#libs/ticket-queue/pull-tickets.ts'
import type { Slots } from './slots.ts'

/** Something was claimed; `ended` resolves when it needs its slot no more, and never rejects. */
export type Taken = { readonly ended: Promise<unknown> }

export type Pull = {
  /** Takes tickets, or none. */
  follow(ready: boolean): Promise<void>
  close(): Promise<void>
}

const LOOK_MS = 1_000

/**
 * Claims generations while there is room for them. A ticket makes this worker claim at once, but tickets are not relied
 * on: they may be lost, or be with a worker that is full. So a worker with room, and without a claim in hand, claims each
 * second as well, and goes on as long as it gets one.
 */
export function createPull(deps: {
  /** Claims one generation and begins to run it; null when nothing waits. */
  takeNext: () => Promise<Taken | null>
  slots: Slots
  mayPull: () => boolean
  openTickets: (onTicket: () => Promise<void>) => TicketPull
  log: Logger
}): Pull {
  const { takeNext, slots, mayPull, openTickets, log } = deps
  let claiming = 0
  let started = false

  /** Resolves when the claim is answered, with whether it got one. */
  async function takeOne(): Promise<boolean> {
    const leave = slots.take()
    claiming += 1
    try {
      const taken = await takeNext()
      if (taken === null) leave()
      else void taken.ended.finally(leave)
      return taken !== null
    } catch (error) {
      leave()
      log.error({ err: error }, 'the record did not answer a claim')
      return false
    } finally {
      claiming -= 1
    }
  }

  const tickets = openTickets(async () => {
    await slots.room()
    // Not awaited: the slot is taken, so the next ticket may follow while this claim is on its way.
    if (mayPull()) void takeOne()
    // BullMQ hands over the next ticket when this resolves, that is when the engine can run one more.
    await slots.room()
  })

  async function look() {
    if (claiming > 0 || !mayPull() || !slots.isFree()) return
    if (await takeOne()) await look()
  }

  const timer = setInterval(() => void look(), LOOK_MS)

  return {
    async follow(ready) {
      if (!started) {
        // A queue that was paused before its start would stay paused.
        if (!ready) return
        started = true
        tickets.start()
      } else if (ready) await tickets.resume()
      else await tickets.pause()
    },
    async close() {
      clearInterval(timer)
      await tickets.close()
    },
  }
}
