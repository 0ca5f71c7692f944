import { createHmac, hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { NO_SEATS, RESERVED_MS, type Seats } from '#libs/generation-record/seats.ts'
import type { ClusterPicture, WorkerPicture } from '../demand/cluster-picture.ts'
import { toConversation } from './conversation.ts'
import type { GenerationCall } from './generation-call.ts'

/** Decides which generations are offered to which worker. */
export type Affinity = {
  /**
   * Returns the seats of a request; `NO_SEATING` if there is no secret, if fewer than two workers of the model take offers,
   * or if the request is not a turn of a conversation.
   */
  open(call: SeatedCall): Seating
}

export type SeatedCall = Pick<GenerationCall, 'caller' | 'model' | 'request' | 'conversation' | 'session'>

/** The seats of one request, which all its choices share, and the choice of its worker. */
export type Seating = {
  /** If there is a calmest worker, the turn is reserved even without a seat, because it is then offered to this worker. */
  readonly seats: Seats
  /**
   * Returns the worker that a generation is offered to. `seat` is the worker that had the turn before, if it is known.
   * - With a seat, this worker is chosen. If it has more to do than `MOST_LOAD` allows, the calmest worker is chosen
   *   instead, if there is one. The result is null if the worker of the seat takes no offers, is not ready, or is the
   *   only one.
   * - Without a seat, the calmest worker is chosen. The result is null if there is none.
   *
   * The first call is for the first choice of the request. The further choices get the same worker, because its engine
   * computes the prompt that they have in common.
   */
  choose(seat: string | undefined): Choice | null
}

export const NO_SEATING: Seating = { seats: NO_SEATS, choose: () => null }

/** `waitMs`: how long the generation waits for the worker before any worker may take it. */
export type Choice = { readonly worker: string; readonly waitMs: number }

/** A worker with a free slot claims an offer within a few milliseconds, unless it or its machine is slow. */
const WAIT_WITH_ROOM_MS = RESERVED_MS
const LONGEST_WAIT_MS = 2_000
/**
 * A worker keeps its conversations while it runs at most this multiple of its share of all generations, and two more.
 * The two more leave room for chance: if a few conversations have turns at one worker at the same time, this load
 * passes sooner than another worker could compute a moved conversation anew.
 */
const MOST_LOAD = { multiple: 1.25, more: 2 }
/** A name has 96 bits, so that the record stores the two seats of a generation in less than 64 bytes. */
const NAME_CHARACTERS = 16

/**
 * The keys of this many accounts are kept, because an HMAC costs a request about 30 µs. The least recently used key is
 * dropped first. All keys take about 1 MB.
 */
const KEPT_KEYS = 5_000

/**
 * A seat's name is a hash of the account and of a conversation's beginning, or of the caller's own name for the
 * conversation. `secret` keys the hash, so only a reader who knows the secret can test a guessed prompt against a name.
 *
 * Seats are kept apart by account, whatever `PREFIX_SHARING` of the workers is. Where each key has a cache of its own, a
 * conversation that continues with another key may be offered in vain; where all accounts share a cache, no seat of
 * another account is found.
 */
export function createAffinity(deps: {
  /** Returns null if no generation is to be offered. */
  secret: () => string | null
  picture: Pick<ClusterPicture, 'takesOffers' | 'findWorker' | 'findCalmest' | 'notePlaced'>
}): Affinity {
  const { picture } = deps
  const keys = new LRUCache<string, string>({ max: KEPT_KEYS })

  return {
    open(call) {
      const secret = deps.secret()
      const { caller, model, session } = call
      if (secret === null || !picture.takesOffers(model.id)) return NO_SEATING
      const { beginnings, hasAnswer } = call.conversation ?? toConversation(call.request)
      const [latest] = beginnings
      if (latest === undefined) return NO_SEATING
      const key = keyOf(caller.accountId, secret)
      const toName = (text: string) => hash('sha256', `${key} ${text}`, 'base64url').slice(0, NAME_CHARACTERS)
      const named = session === null ? [] : [toName(`session ${session}`)]
      const sought = hasAnswer ? [...beginnings.map(toName), ...named] : named
      const isReserved = picture.findCalmest(model.id) !== null
      return new RequestSeating(picture, model.id, { taken: [toName(latest), ...named], sought, isReserved })
    },
  }

  function keyOf(accountId: string, secret: string): string {
    const known = keys.get(accountId)
    if (known !== undefined) return known
    const key = createHmac('sha256', secret).update(`seats ${accountId}`).digest('base64url')
    keys.set(accountId, key)
    return key
  }
}

type Picture = Pick<ClusterPicture, 'findWorker' | 'findCalmest' | 'notePlaced'>

/** A class, because a gateway has one object for each request that it runs. */
class RequestSeating implements Seating {
  readonly seats: Seats
  readonly #picture: Picture
  readonly #model: string
  /** The worker to which the first choice was offered: undefined before `choose` was called, null if it chose none. */
  #worker: string | null | undefined

  constructor(picture: Picture, model: string, seats: Seats) {
    this.seats = seats
    this.#picture = picture
    this.#model = model
  }

  choose(seat: string | undefined) {
    if (this.#worker === null) return null
    if (this.#worker !== undefined) return this.#toSame(this.#worker)
    const choice = seat === undefined ? this.#toCalmest(null) : this.#toSeat(seat)
    this.#worker = choice?.worker ?? null
    return choice
  }

  #toSame(worker: string): Choice | null {
    const found = this.#picture.findWorker(this.#model, worker)
    if (found === null) return null
    this.#picture.notePlaced(this.#model, worker, null)
    return { worker, waitMs: toWaitMs(found) }
  }

  #toSeat(seat: string): Choice | null {
    const found = this.#picture.findWorker(this.#model, seat)
    if (found === null) return null
    const isBusy = found.running > MOST_LOAD.multiple * found.share + MOST_LOAD.more
    const calmest = isBusy ? this.#toCalmest(seat) : null
    return calmest ?? { worker: seat, waitMs: toWaitMs(found) }
  }

  /** Counts the turn at once: heartbeats are a second apart, and until then one worker would get all turns. */
  #toCalmest(from: string | null): Choice | null {
    const worker = this.#picture.findCalmest(this.#model)
    if (worker === null || worker === from) return null
    this.#picture.notePlaced(this.#model, worker, from)
    return { worker, waitMs: WAIT_WITH_ROOM_MS }
  }
}

/** The wait for a full worker is twice the mean time until one of its slots becomes free. */
function toWaitMs({ slots, running, meanGenerationMs }: WorkerPicture): number {
  if (running < slots) return WAIT_WITH_ROOM_MS
  return Math.min(LONGEST_WAIT_MS, Math.max(WAIT_WITH_ROOM_MS, (2 * (meanGenerationMs ?? 0)) / slots))
}
