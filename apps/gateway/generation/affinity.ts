import { createHmac, hash } from 'node:crypto'
import { NO_SEATS, type Seats } from '#libs/generation-record/generation-record.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import type { GenerationCall } from './generation-call.ts'

/** Decides which generations are offered to the worker whose engine has probably cached their beginning. */
export type Affinity = {
  /** Returns the seats of a call; none if affinity is off, or the call is not a turn of a conversation. */
  seatsOf(call: Pick<GenerationCall, 'caller' | 'conversation'>): Seats
  /**
   * Returns the worker that a generation with a seat at `worker` is offered to: this one, or if it has more to do than the
   * others, the one with the least. Null: it is not offered, because its worker is not ready, or is the only one.
   */
  choose(model: string, worker: string): Choice | null
}

/** `waitMs`: how long the generation waits for the worker before any worker may take it. */
export type Choice = { readonly worker: string; readonly waitMs: number }

/**
 * A worker with room claims an offer within a few milliseconds, unless it or its machine is slow. For as long the record
 * reserves the generation (`RESERVED_MS` of its scripts).
 */
const WAIT_WITH_ROOM_MS = 250
const LONGEST_WAIT_MS = 2_000
/**
 * A worker keeps its conversations while it runs at most this multiple of what the ready workers run on average, and one
 * more.
 */
const MOST_LOAD = { multiple: 1.25, more: 1 }
/** 96 bits: the record stores the two seats of a generation in less than 64 bytes. */
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
  isOn: boolean
  secret: string
  picture: Pick<ClusterPicture, 'findWorker' | 'findCalmest' | 'noteMoved'>
}): Affinity {
  const { isOn, secret, picture } = deps

  return {
    seatsOf({ caller, conversation: { beginnings, hasAnswer, session } }) {
      const [latest] = beginnings
      if (!isOn || latest === undefined) return NO_SEATS
      const key = createHmac('sha256', secret).update(`seats ${caller.accountId}`).digest('base64url')
      const toName = (text: string) => hash('sha256', `${key} ${text}`, 'base64url').slice(0, NAME_CHARACTERS)
      const named = session === null ? [] : [toName(`session ${session}`)]
      const sought = hasAnswer ? [...beginnings.map(toName), ...named] : named
      return { taken: [toName(latest), ...named], sought }
    },
    choose(model, worker) {
      const found = picture.findWorker(model, worker)
      if (found === null) return null
      const { slots, running, meanRunning, meanGenerationMs } = found
      const calmest = picture.findCalmest(model)
      if (
        calmest !== null &&
        calmest !== worker &&
        running > MOST_LOAD.multiple * meanRunning + MOST_LOAD.more
      ) {
        // Heartbeats are a second apart. Without this, all turns of that second would leave the worker.
        picture.noteMoved(worker, calmest)
        return { worker: calmest, waitMs: WAIT_WITH_ROOM_MS }
      }
      if (running < slots) return { worker, waitMs: WAIT_WITH_ROOM_MS }
      // Twice the mean time until a slot becomes free.
      const waitMs = (2 * (meanGenerationMs ?? 0)) / slots
      return { worker, waitMs: Math.min(LONGEST_WAIT_MS, Math.max(WAIT_WITH_ROOM_MS, waitMs)) }
    },
  }
}
