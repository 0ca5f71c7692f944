import { createHmac, hash } from 'node:crypto'
import { NO_SEATS, type Seats } from '#libs/generation-record/generation-record.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import type { GenerationCall } from './generation-call.ts'

/** Decides which generations are offered to the worker whose engine has probably cached their beginning. */
export type Affinity = {
  /** Returns the seats of a call; none if affinity is off, or the call is not a turn of a conversation. */
  seatsOf(call: Pick<GenerationCall, 'caller' | 'conversation'>): Seats
  /**
   * Returns how long a generation waits for this worker before any worker may take it, in ms. Null: it is not offered,
   * because the worker is not ready, is the only one, or has more to do than the others.
   */
  waitFor(model: string, worker: string): number | null
}

/**
 * A worker with room claims an offer within a few milliseconds, unless it or its machine is slow. For as long the record
 * reserves the generation (`RESERVED_MS` of its scripts).
 */
const WAIT_WITH_ROOM_MS = 250
const LONGEST_WAIT_MS = 2_000
/** A worker gets offers while it runs at most this multiple of what the ready workers run on average, and one more. */
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
  picture: Pick<ClusterPicture, 'findWorker' | 'noteDiverted'>
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
    waitFor(model, worker) {
      const found = picture.findWorker(model, worker)
      if (found === null) return null
      if (found.running > MOST_LOAD.multiple * found.meanRunning + MOST_LOAD.more) {
        // Heartbeats are a second apart. Without this, all turns of that second would leave the worker.
        picture.noteDiverted(worker)
        return null
      }
      const { slots, running, meanGenerationMs } = found
      if (running < slots) return WAIT_WITH_ROOM_MS
      // Twice the mean time until a slot becomes free.
      const waitMs = (2 * (meanGenerationMs ?? 0)) / slots
      return Math.min(LONGEST_WAIT_MS, Math.max(WAIT_WITH_ROOM_MS, waitMs))
    },
  }
}
