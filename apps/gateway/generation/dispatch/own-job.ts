import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord, Home, Place } from '#libs/generation-record/generation-record.ts'
import { jobDate, toJobId, type JobQueue, type QueuedJob } from '#libs/job-queue/job-queue.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Seating } from './affinity.ts'

/**
 * Where a generation with a home was claimed:
 * - `warm`: by its home, in time or later; a seat of its conversation names this worker.
 * - `placed`: by its home, which was the least loaded worker.
 * - `elsewhere`: by another worker.
 * - `given-up`: by any worker, because its home is not ready, does not listen, or has too much to do.
 */
export const HOME_WAIT_ENDS = ['warm', 'placed', 'elsewhere', 'given-up'] as const
export type HomeWaitEnd = (typeof HOME_WAIT_ENDS)[number]

export type JobDeps = {
  readonly jobs: Omit<JobQueue, 'close'>
  readonly record: Pick<GenerationRecord, 'leaveHome' | 'claimant'>
  readonly sendLook: ControlSender['look']
  readonly onHomeWaitEnd: (end: HomeWaitEnd) => void
  readonly log: Logger
}

type About = {
  readonly job: Pick<GenerationJob, 'id' | 'model' | 'request'>
  readonly place: Pick<Place, 'accountId' | 'cost'>
}

/** Only the first epoch has a home: a later one is at the front of the queue, and any worker may take it at once. */
const HOME_EPOCH = 1

/**
 * The job of one generation in the model's queue, while the generation waits for any worker. None of its methods rejects.
 *
 * While a generation waits for its home, it has no job, so that no other worker is woken. Its home is asked to look for it;
 * a home without a free slot finds it when a slot becomes free. If the message is lost, the wait costs its time and nothing
 * else. A job that is delayed by this time instead would cost every warm turn half as many Redis commands again, and
 * BullMQ computes delays with the clocks of gateways and workers.
 */
export class OwnJob {
  readonly #deps: JobDeps
  readonly #about: About
  /** The job that was added last; null after a worker has claimed the generation, and after `takeAway`. */
  #queued: QueuedJob | null = null
  #epoch = 1
  /** The number of jobs that were made in this epoch. */
  #made = 0
  /** Null if the generation does not wait for a worker, or does not any more. */
  #home: Home | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(deps: JobDeps, about: About) {
    this.#deps = deps
    this.#about = about
  }

  /**
   * Adds the job of this epoch to the queue. The command is sent together with the other commands of this iteration of
   * the event loop. A repeated call in the same epoch adds the same job.
   */
  async add(epoch: number): Promise<void> {
    if (epoch !== this.#epoch) [this.#epoch, this.#made, this.#queued] = [epoch, 0, null]
    this.#queued ??= this.#make()
    await this.#deps.jobs.add(this.#queued).catch((error: unknown) => this.#failed(error))
  }

  /**
   * Adds another job under a new id. The queue ignores a job whose id it knows, and it still knows the id of a job that
   * is stuck. Adds no job while other jobs of the model wait, because a worker that takes one of these jobs may claim
   * this generation as well.
   */
  async replace(): Promise<void> {
    const before = this.#queued
    if (before === null) return
    const job = this.#make()
    const isAdded = await this.#deps.jobs.addIfNoneWaits(job).catch((error: unknown) => this.#failed(error))
    if (isAdded !== true) return
    if (this.#queued === before) this.#queued = job
    else this.#remove(job)
  }

  /** Called when the generation waits for this home. Adds the job if the home is given up, or does not claim in time. */
  awaitHome(home: Home, { accept, seats }: Seating): void {
    const { record, sendLook } = this.#deps
    const { id, model } = this.#about.job
    const giveUp = () => {
      if (this.#home === null) return
      this.#endWait('given-up')
      // Sent before the job on the same connection, so that a worker that takes the job may claim the generation.
      void record.leaveHome(model, id).catch(() => undefined)
      void this.add(HOME_EPOCH)
    }
    this.#home = home
    if (!accept(home.worker)) return giveUp()
    this.#timer = setTimeout(() => void this.#addUnlessClaimed(), seats.heldMs)
    void sendLook(home.worker, model).then((isHeard) => {
      if (!isHeard) giveUp()
    })
  }

  /**
   * Must be called when a worker has claimed the generation. Forgets the job, without removing it from the queue. If the
   * worker did not use this job, the job stays in the queue, and a worker that takes it later claims another generation.
   */
  claimed(worker: string): void {
    this.#queued = null
    if (this.#home?.worker === worker) this.#endWait(this.#home.hasSeat ? 'warm' : 'placed')
    else this.#endWait('elsewhere')
  }

  /** Must be called when the generation does not wait any more, or is to be queued anew. */
  takeAway(): void {
    this.#forgetHome()
    if (this.#queued !== null) this.#remove(this.#queued)
    this.#queued = null
  }

  /**
   * Removes a job from the queue. A failure is ignored: a job that stays in the queue lets a worker claim another
   * generation, or is removed later as surplus.
   */
  #remove(job: QueuedJob): void {
    this.#deps.jobs.remove(job).catch(() => undefined)
  }

  /** The claim arrives with the first output, so the generation may be claimed already. Then it needs no job. */
  async #addUnlessClaimed(): Promise<void> {
    const { id, model } = this.#about.job
    const worker = await this.#deps.record.claimant(model, id).catch(() => null)
    if (this.#home !== null && worker === null) void this.add(HOME_EPOCH)
  }

  #endWait(end: HomeWaitEnd): void {
    if (this.#home !== null) this.#deps.onHomeWaitEnd(end)
    this.#forgetHome()
  }

  #forgetHome(): void {
    clearTimeout(this.#timer)
    this.#home = null
  }

  #failed(error: unknown): void {
    this.#deps.log.warn({ err: error, requestId: this.#about.job.id }, 'no job was added')
  }

  #make(): QueuedJob {
    const { job, place } = this.#about
    this.#made += 1
    return {
      id: toJobId(job.id, this.#epoch, this.#made),
      model: job.model,
      kind: job.request.kind,
      data: {
        generation: job.id,
        epoch: this.#epoch,
        account: place.accountId,
        estimatedTokens: place.cost,
        waitsSince: jobDate(),
      },
    }
  }
}
