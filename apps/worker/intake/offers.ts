import type { Offer } from '#libs/event-bus/worker-control.ts'

/** The generations that were offered to this worker and that it has not claimed yet, for one engine. */
export type Offers = {
  add(offer: Offer): void
  /** Keeps an offer that `next` has returned for the rest of its time. */
  putBack(kept: KeptOffer): void
  /**
   * Removes and returns, of the offers whose time has not passed, the offer that is the first in the fair order. Returns
   * null if there is none.
   */
  next(): KeptOffer | null
}

export type KeptOffer = { readonly offer: Offer; readonly untilMs: number }

/** The most offers that are kept. Few engines free more slots within the longest time of an offer. */
const MOST_OFFERS = 256

/**
 * Creates an empty list of offers. An offer that is dropped, lost or doubled changes nothing: its generation waits in the
 * record, and its job becomes due. So an offer is kept for its time only, and if there are too many, the oldest one is
 * dropped.
 */
export function createOffers(nowMs: () => number): Offers {
  let kept: KeptOffer[] = []

  function keep(offer: KeptOffer): void {
    kept = [...kept, offer].slice(-MOST_OFFERS)
  }

  return {
    add: (offer) => keep({ offer, untilMs: nowMs() + offer.forMs }),
    putBack: keep,
    next() {
      kept = kept.filter(({ untilMs }) => nowMs() < untilMs)
      const [first = null] = kept.toSorted((a, b) => a.offer.tag - b.offer.tag)
      kept = kept.filter((each) => each !== first)
      return first
    },
  }
}
