import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import type { Affinity } from './affinity.ts'
import type { OwnJob } from './own-job.ts'

/**
 * - `taken`: the worker of the seat claimed the generation in time;
 * - `moved`: another worker claimed it in time, to which it was offered because the worker of the seat had more to do;
 * - `elsewhere`: another worker did;
 * - `late`: nobody had claimed it when its wait ended;
 * - `unheard`: the offer reached no worker;
 * - `refused`: no offer was sent, because the worker of the seat is not ready, or is the only one.
 */
export const OFFER_ENDS = ['taken', 'moved', 'elsewhere', 'late', 'unheard', 'refused'] as const
export type OfferEnd = (typeof OFFER_ENDS)[number]

/** Only the first epoch is offered: a later one is at the front of the queue, and any worker may take it at once. */
const EPOCH = 1

export type WarmOfferDeps = {
  readonly choose: Affinity['choose']
  readonly sendOffer: ControlSender['offer']
  readonly unreserve: GenerationRecord['unreserve']
  readonly onEnd: (end: OfferEnd) => void
}

/**
 * The offer of one waiting generation, in its first epoch, to the worker whose engine has probably cached its beginning.
 * The generation waits in the record as every other one, and its job is delayed. So a lost offer costs the delay and
 * nothing else, and a claim by any other worker is as good.
 */
export class WarmOffer {
  readonly #deps: WarmOfferDeps
  readonly #job: OwnJob
  #worker: string | null = null
  #isMoved = false
  #timer: NodeJS.Timeout | undefined
  #isOpen = false

  constructor(deps: WarmOfferDeps, job: OwnJob) {
    this.#deps = deps
    this.#job = job
  }

  /** Adds the generation's job: delayed, with an offer for the worker of its seat, or due at once if no offer is made. */
  queue({ id, model }: Pick<GenerationJob, 'id' | 'model'>, seat: string | undefined): void {
    if (seat === undefined) return void this.#job.add(EPOCH)
    const unreserve = () => void this.#deps.unreserve(model, id).catch(() => undefined)
    const chosen = this.#deps.choose(model, seat)
    if (chosen === null) {
      this.#deps.onEnd('refused')
      // Sent before the job on the same connection, so that the job's turn finds the generation.
      unreserve()
      return void this.#job.add(EPOCH)
    }
    const { worker, waitMs } = chosen
    this.#worker = worker
    this.#isMoved = worker !== seat
    this.#isOpen = true
    this.#timer = setTimeout(() => void this.#makeDue('late'), waitMs)
    void this.#job.addDelayed(EPOCH, waitMs)
    void this.#deps.sendOffer(worker, { model, id, epoch: EPOCH, forMs: waitMs }).then((isHeard) => {
      if (isHeard || !this.#isOpen) return
      unreserve()
      void this.#makeDue('unheard')
    })
  }

  /** Must be called when a worker has claimed the generation. A worker that claims an offered one removes its job. */
  claimed(worker: string): void {
    const isTaken = worker === this.#worker
    if (this.#worker === null || isTaken) this.#job.forget()
    else this.#job.takeAway()
    if (isTaken) this.#end(this.#isMoved ? 'moved' : 'taken')
    else this.#end('elsewhere')
  }

  /** Ends the offer without a claim, and takes the job away. */
  withdraw(): void {
    this.#close()
    this.#job.takeAway()
  }

  /** The job of a generation that its worker has claimed is gone, although the claim may not have arrived yet. */
  async #makeDue(end: 'late' | 'unheard'): Promise<void> {
    clearTimeout(this.#timer)
    if (await this.#job.makeDue()) this.#end(end)
  }

  #end(end: OfferEnd): void {
    if (this.#isOpen) this.#deps.onEnd(end)
    this.#close()
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#isOpen = false
  }
}
