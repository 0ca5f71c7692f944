import { createHmac, hash } from 'node:crypto'
import { NO_SEATS, RESERVED_MS, type Seats } from '#libs/generation-record/seats.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import type { GenerationCall } from './generation-call.ts'

/** Decides which generations are offered to which worker. */
export type Affinity = {
  /**
   * Returns the seats of a call; none if there is no secret, or if the call is not a turn of a conversation. If there is a
   * calmest worker, the turn is reserved even without a seat, because it is then offered to this worker.
   */
  seatsOf(call: Pick<GenerationCall, 'caller' | 'model' | 'conversation'>): Seats
  /**
   * Returns the worker that a generation is offered to. `seat` is the worker that had the turn before, if it is known.
   * - This worker is chosen, unless it has more to do than its share. Then the calmest worker is chosen, if there is
   *   one. The result is null if the worker of the seat is not ready, or is the only one.
   * - Without a seat, the calmest worker is chosen. The result is null if there is none.
   */
  choose(model: string, seat: string | undefined): Choice | null
}

/** `waitMs`: how long the generation waits for the worker before any worker may take it. */
export type Choice = { readonly worker: string; readonly waitMs: number }

/** A worker with a free slot claims an offer within a few milliseconds, unless it or its machine is slow. */
const WAIT_WITH_ROOM_MS = RESERVED_MS
const LONGEST_WAIT_MS = 2_000
/**
 * A worker keeps its conversations while it runs at most this multiple of its share of all generations, and two more. The
 * two leave room for chance: if the turns of few conversations meet at one worker, this passes sooner than a worker has
 * computed a moved conversation anew.
 */
const MOST_LOAD = { multiple: 1.25, more: 2 }
/** A name has 96 bits, so that the record stores the two seats of a generation in less than 64 bytes. */
const NAME_CHARACTERS = 16

/**
 * A seat's name is a hash of the account and of a conversation's beginning, or of the caller's own name for the
 * conversation. `secret` keys the hash, so whoever reads the names cannot test a guessed prompt against them.
 *
 * Seats are kept apart by account, whatever `PREFIX_SHARING` of the workers is. Where each key has a cache of its own, a
 * conversation that continues with another key may be offered in vain; where all accounts share a cache, no seat of
 * another account is found.
 */
export function createAffinity(deps: {
  /** Returns null if no generation is to be offered. */
  secret: () => string | null
  picture: Pick<ClusterPicture, 'findWorker' | 'findCalmest' | 'notePlaced'>
}): Affinity {
  const { picture } = deps

  return {
    seatsOf({ caller, model, conversation: { beginnings, hasAnswer, session } }) {
      const [latest] = beginnings
      const secret = deps.secret()
      if (secret === null || latest === undefined) return NO_SEATS
      const key = createHmac('sha256', secret).update(`seats ${caller.accountId}`).digest('base64url')
      const toName = (text: string) => hash('sha256', `${key} ${text}`, 'base64url').slice(0, NAME_CHARACTERS)
      const named = session === null ? [] : [toName(`session ${session}`)]
      const sought = hasAnswer ? [...beginnings.map(toName), ...named] : named
      const isReserved = picture.findCalmest(model.id) !== null
      return { taken: [toName(latest), ...named], sought, isReserved }
    },
    choose(model, seat) {
      if (seat === undefined) return toCalmest(model, null)
      const found = picture.findWorker(model, seat)
      if (found === null) return null
      const { slots, running, share, meanGenerationMs } = found
      if (running > MOST_LOAD.multiple * share + MOST_LOAD.more) {
        const calmest = toCalmest(model, seat)
        if (calmest !== null) return calmest
      }
      if (running < slots) return { worker: seat, waitMs: WAIT_WITH_ROOM_MS }
      // The wait is twice the mean time until a slot becomes free.
      const waitMs = (2 * (meanGenerationMs ?? 0)) / slots
      return { worker: seat, waitMs: Math.min(LONGEST_WAIT_MS, Math.max(WAIT_WITH_ROOM_MS, waitMs)) }
    },
  }

  /** Heartbeats are a second apart, so the choice is counted. Otherwise all turns of a second would get one worker. */
  function toCalmest(model: string, from: string | null): Choice | null {
    const worker = picture.findCalmest(model)
    if (worker === null || worker === from) return null
    picture.notePlaced(worker, from)
    return { worker, waitMs: WAIT_WITH_ROOM_MS }
  }
}
