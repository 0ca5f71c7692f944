import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import type { Seating } from './affinity.ts'
import type { OwnJob } from './own-job.ts'

/**
 * Where a generation with a home was claimed:
 * - `home`: by its home, in time or later.
 * - `elsewhere`: by another worker.
 * - `given-up`: by any worker, because its home is not ready, does not listen, or has too much to do.
 */
export const HOME_WAIT_ENDS = ['home', 'elsewhere', 'given-up'] as const
export type HomeWaitEnd = (typeof HOME_WAIT_ENDS)[number]

export type HomeWaitDeps = {
  readonly sendLook: ControlSender['look']
  readonly record: Pick<GenerationRecord, 'leaveHome' | 'claimant'>
  readonly onEnd: (end: HomeWaitEnd) => void
}

/** Only the first epoch has a home: a later one is at the front of the queue, and any worker may take it at once. */
const EPOCH = 1

/**
 * The wait of one generation for its home. The home is asked to look for it. The generation gets its job when its time is
 * over, so that no other worker is woken before. If the message is lost, the wait costs this time and nothing else.
 */
export class HomeWait {
  readonly #deps: HomeWaitDeps
  readonly #job: OwnJob
  readonly #seating: Seating
  /** Null if the generation does not wait for a worker. */
  #home: string | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(deps: HomeWaitDeps, job: OwnJob, seating: Seating) {
    this.#deps = deps
    this.#job = job
    this.#seating = seating
  }

  /** Called when the generation waits in the record, for this home if it has one. */
  begin({ id, model }: Pick<GenerationJob, 'id' | 'model'>, home: string | undefined): void {
    if (home === undefined) return void this.#job.add(EPOCH)
    this.#home = home
    const giveUp = () => {
      if (this.#home === null) return
      this.#end('given-up')
      // Sent before the job on the same connection, so that a worker that takes the job may claim the generation.
      void this.#deps.record.leaveHome(model, id).catch(() => undefined)
      void this.#job.add(EPOCH)
    }
    if (!this.#seating.accept(home)) return giveUp()
    this.#timer = setTimeout(() => void this.#timeOver(model, id), this.#seating.seats.heldMs)
    void this.#deps.sendLook(home, model).then((isHeard) => {
      if (!isHeard) giveUp()
    })
  }

  /** Must be called when a worker has claimed the generation. */
  claimed(worker: string): void {
    this.#job.forget()
    this.#end(worker === this.#home ? 'home' : 'elsewhere')
  }

  /** Ends the wait without a claim, and takes the job away. */
  withdraw(): void {
    this.#close()
    this.#job.takeAway()
  }

  /** The claim arrives with the first output, so the generation may be claimed already. Then it needs no job. */
  async #timeOver(model: string, id: string): Promise<void> {
    const worker = await this.#deps.record.claimant(model, id).catch(() => null)
    if (this.#home !== null && worker === null) void this.#job.add(EPOCH)
  }

  #end(end: HomeWaitEnd): void {
    if (this.#home !== null) this.#deps.onEnd(end)
    this.#close()
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#home = null
  }
}
