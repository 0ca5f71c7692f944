import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Place } from '#libs/generation-record/generation-record.ts'
import { jobDate, toJobId, type JobQueue, type QueuedJob } from '#libs/job-queue/job-queue.ts'

type About = {
  readonly job: Pick<GenerationJob, 'id' | 'model' | 'request'>
  readonly place: Pick<Place, 'accountId' | 'cost'>
}

/** The job of one generation in the model's queue, as long as the generation waits. None of its methods rejects. */
export class OwnJob {
  readonly #jobs: Omit<JobQueue, 'close'>
  readonly #about: About
  readonly #onError: (error: unknown) => void
  /** The job that was added last; null after a worker has claimed the generation, and after `takeAway`. */
  #queued: QueuedJob | null = null
  #epoch = 1
  /** The number of jobs that were made in this epoch. */
  #made = 0

  constructor(jobs: Omit<JobQueue, 'close'>, about: About, onError: (error: unknown) => void) {
    this.#jobs = jobs
    this.#about = about
    this.#onError = onError
  }

  /**
   * Adds the job of this epoch to the queue. The command is sent together with the other commands of this iteration of
   * the event loop. A repeated call in the same epoch adds the same job.
   */
  async add(epoch: number): Promise<void> {
    if (epoch !== this.#epoch) [this.#epoch, this.#made, this.#queued] = [epoch, 0, null]
    this.#queued ??= this.#make()
    await this.#jobs.add(this.#queued).catch(this.#onError)
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
    const isAdded = await this.#jobs.addIfNoneWaits(job).catch(this.#onError)
    if (isAdded !== true) return
    if (this.#queued === before) this.#queued = job
    else this.#remove(job)
  }

  /**
   * Forgets the job, without removing it from the queue. Called when a worker has claimed the generation. If that
   * worker did not use this job, the job stays in the queue, and a worker that takes it later claims another
   * generation.
   */
  forget(): void {
    this.#queued = null
  }

  takeAway(): void {
    if (this.#queued !== null) this.#remove(this.#queued)
    this.#queued = null
  }

  /**
   * Removes a job from the queue. A failure is ignored: a job that stays in the queue lets a worker claim another
   * generation, or is removed later as surplus.
   */
  #remove(job: QueuedJob): void {
    this.#jobs.remove(job).catch(() => undefined)
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
