import type { JobPull, Turn } from '#libs/job-queue/pull-jobs.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Slots } from './slots.ts'

/**
 * A claimed generation. `ended` resolves when the generation no longer needs its slot, and never rejects. `waiting` is
 * the number of further generations that waited at the time of the claim and that this worker can run.
 */
export type Taken = { readonly ended: Promise<unknown>; readonly waiting: number }

export type Pull = {
  /** Must be called when the result of `mayPull` has changed. */
  follow(): void
  /** Must be called when a gateway has queued a generation whose home is this worker. */
  look(): void
  /** Returns whether an operator has paused the model's queue. */
  isPaused(): boolean
  close(): Promise<void>
}

const LOOK_MS = 1_000

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
 * A generation that waits for this worker has no job at first. Its gateway asks the worker to look for it: the worker then
 * claims at once, or when a slot becomes free.
 *
 * A job is completed when its claim is answered, whichever generation the claim returned. If a claim gets no answer,
 * its job is not completed, and BullMQ gives the job to another worker later.
 *
 * Jobs may be lost. So a worker also claims each second, without a job, if it has a free slot and all its claims are
 * answered. While an operator has paused the queue, the worker claims nothing.
 */
export function createPull(deps: {
  /** Claims a generation and begins to run it. Resolves with null if there is none for this worker. */
  takeNext: () => Promise<Taken | null>
  slots: Slots
  mayPull: () => boolean
  jobs: JobPull
  /** Called when the result of `isPaused` has changed. */
  onPause: () => void
  log: Logger
}): Pull {
  const { takeNext, slots, mayPull, jobs, onPause, log } = deps
  /** Claims without an answer. */
  let claiming = 0
  /** True if a claim has filled the last slot. More generations may wait then. */
  let filled = false
  let paused = false
  let asking = false
  const closing = new AbortController()
  let changed = Promise.withResolvers<void>()

  const canPull = () => !closing.signal.aborted && mayPull() && !paused

  /** Begins a claim for each free slot, at most `count`, each with a job unless `nextTurn` returns none. */
  function take(count: number, nextTurn = jobs.take): void {
    for (let begun = 0; begun < count && canPull() && slots.isFree(); begun += 1) void claimOn(nextTurn())
  }

  async function claimOn(turn: Promise<Turn | null>): Promise<void> {
    const leave = slots.take()
    claiming += 1
    const taken = await takeNext().catch((error: unknown) => {
      log.error({ err: error }, 'the record did not answer a claim')
      return 'unanswered' as const
    })
    claiming -= 1
    if (taken !== 'unanswered') void turn.then((job) => job?.done())
    if (taken === null || taken === 'unanswered') leave()
    else goOn(taken, leave)
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
      takeAfterFilled()
    })
    // The claims without an answer take some of the waiting generations.
    take(Math.ceil((waiting - claiming) / 2))
    if (!slots.isFree()) filled = true
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
    if (claiming === 0) take(1, noTurn)
  }, LOOK_MS)
  void followPause()
  void waitForJobs()

  return {
    follow: wake,
    look() {
      if (!slots.isFree()) filled = true
      else if (canPull()) void claimOn(noTurn())
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

const noTurn = async () => null
