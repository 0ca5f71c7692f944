import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import type { Affinity } from './affinity.ts'
import type { OwnJob } from './own-job.ts'

/**
 * - `taken`: the worker claimed the generation in time;
 * - `elsewhere`: another worker did;
 * - `late`: nobody had claimed it when its wait ended;
 * - `unheard`: the offer reached no worker;
 * - `refused`: no offer was sent, because the worker is not ready, is the only one, or has more to do than the others.
 */
export const OFFER_ENDS = ['taken', 'elsewhere', 'late', 'unheard', 'refused'] as const
export type OfferEnd = (typeof OFFER_ENDS)[number]

export type WarmOfferDeps = {
  readonly waitFor: Affinity['waitFor']
  readonly sendOffer: ControlSender['offer']
  readonly noteOffer: ClusterPicture['noteOffer']
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
  #timer: NodeJS.Timeout | undefined

  constructor(deps: WarmOfferDeps, job: OwnJob) {
    this.#deps = deps
    this.#job = job
  }

  /** Adds the generation's job: delayed, with an offer to the worker, or due at once if no offer is made. */
  queue(
    { id, model, epoch }: { id: string; model: string; epoch: number },
    worker: string | undefined,
  ): void {
    const waitMs = worker === undefined ? null : this.#deps.waitFor(model, worker)
    if (worker !== undefined && waitMs === null) this.#deps.onEnd('refused')
    if (worker === undefined || waitMs === null) return void this.#job.add(epoch)
    this.#worker = worker
    this.#timer = setTimeout(() => this.#giveUp('late'), waitMs)
    void this.#job.addDelayed(epoch, waitMs)
    this.#deps.noteOffer(worker)
    void this.#deps.sendOffer(worker, { model, id, epoch, forMs: waitMs }).then((isHeard) => {
      if (!isHeard) this.#giveUp('unheard')
    })
  }

  /** Ends the offer. A worker that claims an offered generation removes the job itself. */
  claimed(worker: string): void {
    const isTaken = worker === this.#worker
    if (this.#worker !== null && !isTaken) this.#job.takeAway()
    if (this.#stop()) this.#deps.onEnd(isTaken ? 'taken' : 'elsewhere')
  }

  /** Ends the offer without a claim. */
  withdraw(): void {
    this.#stop()
  }

  #giveUp(end: 'late' | 'unheard'): void {
    if (!this.#stop()) return
    this.#deps.onEnd(end)
    this.#job.makeDue()
  }

  /** Returns whether the offer was still open. */
  #stop(): boolean {
    const isOpen = this.#timer !== undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
    return isOpen
  }
}
