import type { Offer } from '#libs/event-bus/worker-control.ts'
import { toJobId } from '#libs/job-queue/job-queue.ts'
import type { JobPull, Turn } from '#libs/job-queue/pull-jobs.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createOffers, type KeptOffer } from './offers.ts'
import type { Slots } from './slots.ts'

/**
 * Something was claimed; `ended` resolves when it needs its slot no more, and never rejects. `waiting`: how many more
 * waited then that this worker serves.
 */
export type Taken = { readonly ended: Promise<unknown>; readonly waiting: number }

export type Pull = {
  /** The caller calls it when the answer of `mayPull` has changed. */
  follow(): void
  /** A gateway offers a generation whose conversation this worker's engine has probably cached. */
  offer(offer: Offer): void
  /** An operator has paused the model's queue. */
  isPaused(): boolean
  close(): Promise<void>
}

const LOOK_MS = 1_000
/** So many offered generations may be claimed one after the other while other generations wait. */
const MOST_OFFERS_IN_A_ROW = 4

/**
 * Claims generations while there is room for them: each claim takes its slot before it is sent, so there are never more
 * claims, nor jobs in hand, than free slots.
 *
 * A worker with room waits for a job of the model's queue, and claims at once when it has one. The claim's answer says how
 * many more generations wait; half of them are claimed at once, as far as there is room, each beside a job that is taken
 * without waiting for it: so a burst needs a few round trips, and the workers that it woke share it instead of one engine
 * having it all. Only after the answer does it wait for the next job, behind the workers that wait already: BullMQ gives a
 * job to the one that has waited longest. A worker that has filled up claims beside a job when it has room again.
 *
 * A generation that is offered is claimed by its id at once if there is room, else when a slot becomes free, before
 * anything else, but only a few in a row while other generations wait. It was offered before its job is due, so with the
 * claim its job is removed.
 *
 * A job is completed when its claim is answered, whichever generation that gave. One whose claim got no answer stays in
 * hand, until BullMQ gives it to another worker.
 *
 * Jobs are not relied on: a worker with room and without a claim in hand claims each second as well. While an operator has
 * paused the queue it claims nothing.
 */
export function createPull(deps: {
  /**
   * Claims the fairest generation, or the offered one, and begins to run it. Null when nothing waits or the offer has
   * passed; `later` when the offered generation may not be claimed yet.
   */
  takeNext: (offer: Offer | null) => Promise<Taken | 'later' | null>
  slots: Slots
  mayPull: () => boolean
  jobs: JobPull
  /** `isPaused` has changed. */
  onPause: () => void
  nowMs: () => number
  log: Logger
}): Pull {
  const { takeNext, slots, mayPull, jobs, onPause, nowMs, log } = deps
  const offers = createOffers(nowMs)
  /** Claims without an answer. */
  let claiming = 0
  /** A claim has filled the last slot, and more may wait. */
  let filled = false
  /** Offered generations that were claimed since the last other claim while generations waited. */
  let inARow = 0
  let paused = false
  let asking = false
  const closing = new AbortController()
  let changed = Promise.withResolvers<void>()

  const canPull = () => !closing.signal.aborted && mayPull() && !paused

  /** Begins as many claims as there is room for, at most `count`. */
  function take(count: number): void {
    for (let begun = 0; begun < count && canPull() && slots.isFree(); begun += 1) void claimOn(jobs.take())
  }

  async function claimOn(turn: Promise<Turn | null>): Promise<void> {
    const leave = slots.take()
    claiming += 1
    const taken = await claim(null)
    claiming -= 1
    inARow = 0
    if (taken !== 'unanswered') void turn.then((job) => job?.done())
    if (isTaken(taken)) goOn(taken, leave)
    else leave()
  }

  async function claim(offer: Offer | null) {
    return await takeNext(offer).catch((error: unknown) => {
      log.error({ err: error }, 'the record did not answer a claim')
      return 'unanswered' as const
    })
  }

  /** Begins to claim the next offered generation. Returns false if there is none, or no room for it. */
  function takeOffer(): boolean {
    if (!canPull() || !slots.isFree() || inARow >= MOST_OFFERS_IN_A_ROW) return false
    const kept = offers.next()
    if (kept === null) return false
    void claimOffered(kept)
    return true
  }

  async function claimOffered(kept: KeptOffer): Promise<void> {
    const { offer } = kept
    const leave = slots.take()
    claiming += 1
    const taken = await claim(offer)
    claiming -= 1
    if (isTaken(taken)) {
      inARow = taken.waiting > 0 ? inARow + 1 : 0
      void jobs.remove(toJobId(offer.id, offer.epoch, 1))
      return goOn(taken, leave)
    }
    if (taken === 'later') offers.putBack(kept)
    leave()
    takeAfterFilled()
  }

  /** Uses a slot that has become free, if more may wait. */
  function takeAfterFilled(): void {
    if (!filled) return
    filled = false
    take(1)
  }

  function goOn({ ended, waiting }: Taken, leave: () => void): void {
    void ended.finally(() => {
      leave()
      if (!takeOffer()) takeAfterFilled()
    })
    // The claims in hand take some of them.
    take(Math.ceil((waiting - claiming) / 2))
    if (!slots.isFree()) filled = true
    else takeOffer()
  }

  async function waitForJobs(): Promise<void> {
    while (!closing.signal.aborted) {
      await slots.room()
      if (!canPull()) {
        await changed.promise
        continue
      }
      const turn = await jobs.next()
      if (turn === null) continue
      if (canPull() && slots.isFree()) await claimOn(Promise.resolve(turn))
      else void turn.pass()
    }
  }

  function wake(): void {
    changed.resolve()
    changed = Promise.withResolvers()
  }

  async function followPause(): Promise<void> {
    if (asking) return
    asking = true
    // Without an answer it stays as it was.
    const now = await jobs.isPaused().catch(() => paused)
    asking = false
    if (now === paused || closing.signal.aborted) return
    paused = now
    log.warn({ paused }, 'the queue was paused or resumed')
    onPause()
    wake()
  }

  const timer = setInterval(() => {
    wake()
    void followPause()
    if (claiming === 0) take(1)
  }, LOOK_MS)
  void followPause()
  void waitForJobs()

  return {
    follow: wake,
    offer(offer) {
      offers.add(offer)
      takeOffer()
    },
    isPaused: () => paused,
    async close() {
      closing.abort()
      clearInterval(timer)
      wake()
      await jobs.close()
    },
  }
}

function isTaken(answer: Taken | 'later' | 'unanswered' | null): answer is Taken {
  return typeof answer === 'object' && answer !== null
}
