import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { jobDate, toJobId, type JobQueue, type QueuedJob } from '#libs/job-queue/job-queue.ts'

type About = {
  readonly job: Pick<GenerationJob, 'id' | 'model' | 'request'>
  readonly accountId: string
  /** Expected tokens. */
  readonly cost: number
}

/** The job of one generation in the model's queue, as long as the generation waits. None of its methods rejects. */
export class OwnJob {
  readonly #jobs: Omit<JobQueue, 'close'>
  readonly #about: About
  readonly #onError: (error: unknown) => void
  /** The last one that was added, until a worker was heard. */
  #queued: QueuedJob | null = null
  #epoch = 1
  /** Of this epoch. */
  #made = 0

  constructor(jobs: Omit<JobQueue, 'close'>, about: About, onError: (error: unknown) => void) {
    this.#jobs = jobs
    this.#about = about
    this.#onError = onError
  }

  /** The command is sent with those of this turn of the event loop. Repeated in the same epoch it adds the same job. */
  async add(epoch: number): Promise<void> {
    if (epoch !== this.#epoch) [this.#epoch, this.#made, this.#queued] = [epoch, 0, null]
    this.#queued ??= this.#make()
    await this.#jobs.add(this.#queued).catch(this.#onError)
  }

  /** Adds another, under a new id, since that of one which got stuck is taken; not where jobs of other generations wait. */
  async replace(): Promise<void> {
    const before = this.#queued
    if (before === null) return
    const job = this.#make()
    const isAdded = await this.#jobs.addIfNoneWaits(job).catch(this.#onError)
    if (isAdded !== true) return
    if (this.#queued === before) this.#queued = job
    else this.#remove(job)
  }

  /** A worker was heard: the job has done its work, or is a turn for another generation. */
  forget(): void {
    this.#queued = null
  }

  takeAway(): void {
    if (this.#queued !== null) this.#remove(this.#queued)
    this.#queued = null
  }

  /** One that stays is a turn for another generation, or is removed as surplus. */
  #remove(job: QueuedJob): void {
    this.#jobs.remove(job).catch(() => undefined)
  }

  #make(): QueuedJob {
    const { job, accountId, cost } = this.#about
    this.#made += 1
    return {
      id: toJobId(job.id, this.#epoch, this.#made),
      model: job.model,
      kind: job.request.kind,
      data: {
        generation: job.id,
        epoch: this.#epoch,
        account: accountId,
        estimatedTokens: Math.round(cost),
        waitsSince: jobDate(),
      },
    }
  }
}
