import { createHmac, hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { NO_SEATS, type Seats } from '#libs/generation-record/seats.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import { toConversation } from './conversation.ts'
import type { GenerationCall } from './generation-call.ts'

/** Decides for which worker a generation waits: its home. */
export type Affinity = {
  /**
   * Returns the seats of a request; `NO_SEATING` if there is no secret, if fewer than two workers of the model look when
   * they are asked, or if the request is not a turn of a conversation.
   */
  open(call: SeatedCall): Seating
}

export type SeatedCall = Pick<GenerationCall, 'caller' | 'model' | 'request' | 'conversation' | 'session'>

/** The seats of one request. */
export type Seating = {
  /** A turn without a seat waits for the calmest worker, if there is one. */
  readonly seats: Seats
  /** Returns whether the generation is to wait for its home: it is ready, and has not too much to do. */
  accept(home: string): boolean
}

export const NO_SEATING: Seating = { seats: NO_SEATS, accept: () => false }

/** A worker with a free slot claims within a few milliseconds after a look, unless it or its machine is slow. */
const LEAST_HELD_MS = 250
const LONGEST_HELD_MS = 2_000
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
  picture: Pick<ClusterPicture, 'takesOffers' | 'find' | 'findWorker' | 'findCalmest' | 'notePlaced' | 'workersOf'>
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
      const otherwise = picture.findCalmest(model.id)
      if (otherwise !== null && sought.length === 0) picture.notePlaced(model.id, otherwise, null)
      const seats = { taken: [toName(latest), ...named], sought, otherwise, heldMs: toHeldMs(picture, model.id) }
      return new RequestSeating(picture, model.id, seats)
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

type Picture = Pick<ClusterPicture, 'findWorker' | 'notePlaced'>

/** A class, because a gateway has one object for each request that it runs. */
class RequestSeating implements Seating {
  readonly seats: Seats
  readonly #picture: Picture
  readonly #model: string

  constructor(picture: Picture, model: string, seats: Seats) {
    this.seats = seats
    this.#picture = picture
    this.#model = model
  }

  /** A placed turn is counted at once: heartbeats are a second apart, and until then one worker would get all turns. */
  accept(home: string) {
    const { otherwise, sought } = this.seats
    const found = this.#picture.findWorker(this.#model, home)
    if (found === null) return false
    if (home === otherwise) {
      if (sought.length > 0) this.#picture.notePlaced(this.#model, home, null)
    } else if (otherwise !== null && found.running > MOST_LOAD.multiple * found.share + MOST_LOAD.more) {
      return false
    }
    return true
  }
}

/** Twice the mean time until a slot of a full worker becomes free. */
function toHeldMs(picture: Pick<ClusterPicture, 'find' | 'workersOf'>, model: string): number {
  const { slots = 1, meanGenerationMs = null } = picture.find(model) ?? {}
  const ofOne = slots / Math.max(1, picture.workersOf(model).length)
  return Math.min(LONGEST_HELD_MS, Math.max(LEAST_HELD_MS, (2 * (meanGenerationMs ?? 0)) / ofOne))
}
