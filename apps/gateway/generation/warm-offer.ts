import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord, Lift } from '#libs/generation-record/generation-record.ts'
import { RESERVED_MS } from '#libs/generation-record/seats.ts'
import type { Seating } from './affinity.ts'
import type { OwnJob } from './own-job.ts'

/**
 * - `taken`: the worker of the seat claimed the generation in time.
 * - `moved`: the calmest worker claimed it in time. It got the offer because the worker of the seat had more to do.
 * - `placed`: the calmest worker claimed in time a generation without a seat.
 * - `elsewhere`: a worker that had got no offer claimed the generation in time.
 * - `late`: no worker had claimed the generation when its wait ended.
 * - `unheard`: the offer reached no worker.
 * - `refused`: a seat was found, but no offer was sent, because the worker of the seat is not ready, takes no offers,
 *   or is the only one.
 */
export const OFFER_ENDS = ['taken', 'moved', 'placed', 'elsewhere', 'late', 'unheard', 'refused'] as const
export type OfferEnd = (typeof OFFER_ENDS)[number]

type Queued = Pick<Extract<Lift, { readonly status: 'waiting' }>, 'tag' | 'seat' | 'isReserved'>

/** Only the first epoch is offered: a later one is at the front of the queue, and any worker may take it at once. */
const EPOCH = 1

export type WarmOfferDeps = {
  readonly sendOffer: ControlSender['offer']
  readonly record: Pick<GenerationRecord, 'reserveLonger' | 'unreserve'>
  readonly onEnd: (end: OfferEnd) => void
}

/**
 * The offer of one waiting generation, in its first epoch, to one worker: to the worker whose engine has probably
 * cached the beginning of the prompt, or to the calmest worker. The generation waits in the record like every other
 * generation, and its job is delayed. So a lost offer costs the delay and nothing else, and a claim by any other worker
 * is as good.
 */
export class WarmOffer {
  readonly #deps: WarmOfferDeps
  readonly #job: OwnJob
  readonly #seating: Pick<Seating, 'choose'>
  /** The worker that has the offer; null if no offer was made, and after its end. */
  #worker: string | null = null
  /** How the offer ends if this worker claims the generation. */
  #claimedAs: OfferEnd = 'taken'
  #timer: NodeJS.Timeout | undefined

  constructor(deps: WarmOfferDeps, job: OwnJob, seating: Pick<Seating, 'choose'>) {
    this.#deps = deps
    this.#job = job
    this.#seating = seating
  }

  /**
   * Adds the job of a generation that waits. The job is delayed if the generation is offered, else due at once. `seat`:
   * the worker of its seat, if one was found. Without a seat, only a reserved generation is offered.
   */
  queue({ id, model }: Pick<GenerationJob, 'id' | 'model'>, { tag, seat, isReserved }: Queued): void {
    const { record, sendOffer, onEnd } = this.#deps
    const unreserve = () => void record.unreserve(model, id).catch(() => undefined)
    const chosen = seat !== undefined || isReserved === true ? this.#seating.choose(seat) : null
    if (chosen === null) {
      if (seat !== undefined) onEnd('refused')
      // Sent before the job on the same connection, so that a worker that takes the job finds the generation.
      if (isReserved === true) unreserve()
      return void this.#job.add(EPOCH)
    }
    const { worker, waitMs } = chosen
    this.#worker = worker
    if (worker !== seat) this.#claimedAs = seat === undefined ? 'placed' : 'moved'
    const makeDue = (end: 'late' | 'unheard') => {
      // A reservation ends at a time of Redis, whose clock may have gone back since, for example after a failover.
      unreserve()
      void this.#makeDue(end)
    }
    this.#timer = setTimeout(makeDue, waitMs, 'late')
    if (waitMs > RESERVED_MS) void record.reserveLonger(model, id, waitMs).catch(() => undefined)
    void this.#job.addDelayed(EPOCH, waitMs)
    void sendOffer(worker, { model, id, epoch: EPOCH, tag, forMs: waitMs }).then((isHeard) => {
      if (!isHeard && this.#worker !== null) makeDue('unheard')
    })
  }

  /** Must be called when a worker has claimed the generation. A worker that claims an offered one removes its job. */
  claimed(worker: string): void {
    if (this.#worker === null || worker === this.#worker) this.#job.forget()
    else this.#job.takeAway()
    this.#end(worker === this.#worker ? this.#claimedAs : 'elsewhere')
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
    if (this.#worker !== null) this.#deps.onEnd(end)
    this.#close()
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#worker = null
  }
}
