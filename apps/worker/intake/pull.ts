import type { Offer } from '#libs/event-bus/worker-control.ts'
import { toJobId } from '#libs/job-queue/job-queue.ts'
import type { JobPull, Turn } from '#libs/job-queue/pull-jobs.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createOffers, type KeptOffer } from './offers.ts'
import type { Slots } from './slots.ts'

/**
 * A claimed generation. `ended` resolves when the generation no longer needs its slot, and never rejects. `waiting` is
 * the number of further generations that waited at the time of the claim and that this worker can run.
 */
export type Taken = { readonly ended: Promise<unknown>; readonly waiting: number }

export type Pull = {
  /** Must be called when the result of `mayPull` has changed. */
  follow(): void
  /** Must be called when a gateway offers a generation to this worker. */
  offer(offer: Offer): void
  /** Returns whether an operator has paused the model's queue. */
  isPaused(): boolean
  close(): Promise<void>
}

const LOOK_MS = 1_000
/** The most offered generations that are claimed one after the other while other generations wait. */
const MOST_OFFERS_IN_A_ROW = 4

/**
 * Claims generations while slots are free. Each claim takes a slot before it is sent. So the worker never has more
 * unanswered claims than it has slots in which nothing runs. The same limit applies to the jobs that it has taken.
 *
 * A worker with a free slot waits for a job of the model's queue, and sends a claim as soon as it has a job. The answer
 * to the claim says how many more generations wait. From this number the worker subtracts its other unanswered claims.
 * It claims half of the rest at once, or fewer if fewer slots are free. With each of these claims it also takes a job
 * from the queue, but the claim does not wait for the job. So a burst of generations needs few round trips, and the
 * generations are spread over all workers that the burst woke.
 *
 * The worker waits for its next job only after the claim is answered. It then waits behind the workers that already
 * wait: BullMQ gives a job to the worker that has waited longest. A worker whose last slot was filled claims one
 * generation when a slot is free again.
 *
 * The worker claims an offered generation by its id. If a slot is free, it does so at once. Otherwise it does so when a
 * slot becomes free, before it claims anything else. While other generations wait, it claims only a few offered
 * generations in a row. If the offered generation may not be claimed yet, the worker claims the fairest one and then tries
 * again. The job of an offered generation is delayed, so the worker removes the job after the claim.
 *
 * A job is completed when its claim is answered, whichever generation the claim returned. If a claim gets no answer,
 * its job is not completed, and BullMQ gives the job to another worker later.
 *
 * Jobs may be lost. So a worker also claims each second, without waiting for a job, if it has a free slot and all its
 * claims are answered. While an operator has paused the queue, the worker claims nothing.
 */
export function createPull(deps: {
  /**
   * Claims the fairest generation, or the offered one, and begins to run it. Resolves with null if no generation waits
   * or the offer has passed, and with `later` if the offered generation may not be claimed yet.
   */
  takeNext: (offer: Offer | null) => Promise<Taken | 'later' | null>
  slots: Slots
  mayPull: () => boolean
  jobs: JobPull
  /** Called when the result of `isPaused` has changed. */
  onPause: () => void
  nowMs: () => number
  log: Logger
}): Pull {
  const { takeNext, slots, mayPull, jobs, onPause, nowMs, log } = deps
  const offers = createOffers(nowMs)
  /** Claims without an answer. */
  let claiming = 0
  /** True if a claim has filled the last slot. More generations may wait then. */
  let filled = false
  /** The number of offered generations that were claimed since the last other claim, while other generations waited. */
  let inARow = 0
  let paused = false
  let asking = false
  const closing = new AbortController()
  let changed = Promise.withResolvers<void>()

  const canPull = () => !closing.signal.aborted && mayPull() && !paused

  /** Begins a claim for each free slot, at most `count`. */
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
    if (isTaken(taken)) return goOn(taken, leave)
    leave()
    // The slot is free, so an offer that had to wait for this claim is claimed now.
    if (taken === null) takeOffer()
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
    leave()
    if (taken !== 'later') return takeAfterFilled()
    // Another generation must be claimed before. After its claim, this offer is tried again.
    offers.putBack(kept)
    filled = false
    take(1)
  }

  /** Claims a generation for a slot that has become free, if more generations may wait. */
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
    // The claims without an answer take some of the waiting generations.
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
    // Without an answer, `paused` stays as it is.
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
