import type { JobPull, Turn } from '#libs/job-queue/pull-jobs.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Slots } from './slots.ts'

/**
 * Something was claimed; `ended` resolves when it needs its slot no more, and never rejects. `waiting`: how many more
 * waited then that this worker serves.
 */
export type Taken = { readonly ended: Promise<unknown>; readonly waiting: number }

export type Pull = {
  /** The caller calls it when the answer of `mayPull` has changed. */
  follow(): void
  /** An operator has paused the model's queue. */
  isPaused(): boolean
  close(): Promise<void>
}

const LOOK_MS = 1_000

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
 * A job is completed when its claim is answered, whichever generation that gave. One whose claim got no answer stays in
 * hand, until BullMQ gives it to another worker.
 *
 * Jobs are not relied on: a worker with room and without a claim in hand claims each second as well. While an operator has
 * paused the queue it claims nothing.
 */
export function createPull(deps: {
  /** Claims one generation and begins to run it; null when nothing waits. */
  takeNext: () => Promise<Taken | null>
  slots: Slots
  mayPull: () => boolean
  jobs: JobPull
  /** `isPaused` has changed. */
  onPause: () => void
  log: Logger
}): Pull {
  const { takeNext, slots, mayPull, jobs, onPause, log } = deps
  /** Claims without an answer. */
  let claiming = 0
  /** A claim has filled the last slot, and more may wait. */
  let filled = false
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
    const taken = await takeNext().catch((error: unknown) => {
      log.error({ err: error }, 'the record did not answer a claim')
      return 'unanswered' as const
    })
    claiming -= 1
    if (taken !== 'unanswered') void turn.then((job) => job?.done())
    if (taken === null || taken === 'unanswered') leave()
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
    isPaused: () => paused,
    async close() {
      closing.abort()
      clearInterval(timer)
      wake()
      await jobs.close()
    },
  }
}
