import { createHmac, hash } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { NO_SEATS, type Seats } from '#libs/generation-record/seats.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import { readPrefixSecret } from '#libs/queue-redis/prefix-secret.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ClusterPicture } from '../../demand/cluster-picture.ts'
import { toConversation } from '../request/conversation.ts'
import type { GenerationCall } from '../request/generation-call.ts'

/** Decides for which worker a generation waits: its home. */
export type Affinity = {
  /** Returns whether conversations of this model have seats: the secret is known, and two workers are ready. */
  hasSeats(model: string): boolean
  /** Returns the seats of a request; `NO_SEATING` if its model has none, or if it is not a turn of a conversation. */
  open(call: SeatedCall): Seating
}

export type SeatedCall = Pick<GenerationCall, 'caller' | 'model' | 'request' | 'conversation' | 'session'>

/** The seats of one request. */
export type Seating = {
  /** A turn without a seat waits for the least loaded worker, if there is one. */
  readonly seats: Seats
  /** Returns whether the generation is to wait for its home: it is ready, and has not too much to do. */
  accept(home: string): boolean
}

export const NO_SEATING: Seating = { seats: NO_SEATS, accept: () => false }

/** A worker with a free slot claims within a few milliseconds after a look, unless it or its machine is slow. */
const LEAST_HELD_MS = 250
/** A claim ignores a longer wait: the constant of the same name in `claim.lua`, which protects against a clock that went back. */
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

type Picture = Pick<ClusterPicture, 'countWorkers' | 'find' | 'findWorker' | 'findLeastLoaded' | 'notePlaced'>

/**
 * Opens the affinity. The secret of the seats' names is read in the background. Until the queue Redis has answered, and if
 * `mode` is `off`, no generation has a home.
 */
export function openAffinity(
  mode: 'on' | 'off',
  { redis, picture, log }: { redis: Redis | Cluster; picture: Picture; log: Logger },
): Affinity {
  let secret: string | null = null
  if (mode === 'on') void readSecret(redis, log).then((read) => (secret = read))
  return createAffinity({ secret: () => secret, picture })
}

/** Resolves with null if the connection is closed before the secret was read. */
async function readSecret(redis: Redis | Cluster, log: Logger): Promise<string | null> {
  return await untilAnswered(async () => await readPrefixSecret(redis), {
    firstPauseMs: 50,
    lastPauseMs: 1_000,
    giveUp: () => redis.status === 'end',
    onFailure: (error) => log.warn({ err: error }, 'the secret of the seats was not read'),
  }).catch(() => null)
}

/**
 * A seat's name is a hash of the account and of a conversation's beginning, or of the caller's own name for the
 * conversation. `secret` keys the hash, so only a reader who knows the secret can test a guessed prompt against a name. It
 * is null if no generation is to have a home.
 *
 * Seats are kept apart by account, whatever `PREFIX_SHARING` of the workers is. Where each key has a cache of its own, a
 * conversation that continues with another key may wait for its home in vain; where all accounts share a cache, no seat of
 * another account is found.
 */
export function createAffinity(deps: { secret: () => string | null; picture: Picture }): Affinity {
  const { picture } = deps
  const keys = new LRUCache<string, string>({ max: KEPT_KEYS })

  return {
    hasSeats: (model) => deps.secret() !== null && picture.countWorkers(model) > 1,
    open(call) {
      const secret = deps.secret()
      const { caller, session } = call
      const model = call.model.id
      if (secret === null || picture.countWorkers(model) < 2) return NO_SEATING
      const { beginnings, hasAnswer } = call.conversation ?? toConversation(call.request)
      const [latest] = beginnings
      if (latest === undefined) return NO_SEATING
      const key = keyOf(caller.accountId, secret)
      const toName = (text: string) => hash('sha256', `${key} ${text}`, 'base64url').slice(0, NAME_CHARACTERS)
      const named = session === null ? [] : [toName(`session ${session}`)]
      const sought = hasAnswer ? [...beginnings.map(toName), ...named] : named
      const otherwise = picture.findLeastLoaded(model)
      // Counted at once: heartbeats are a second apart, and until then one worker would get all turns.
      if (otherwise !== null && sought.length === 0) picture.notePlaced(model, otherwise)
      const seats = { taken: [toName(latest), ...named], sought, otherwise, heldMs: toHeldMs(picture, model) }
      return { seats, accept: (home) => accept(home, { model, seats }) }
    },
  }

  function accept(home: string, { model, seats }: { model: string; seats: Seats }): boolean {
    const found = picture.findWorker(model, home)
    if (found === null) return false
    if (home !== seats.otherwise)
      return seats.otherwise === null || found.running <= MOST_LOAD.multiple * found.share + MOST_LOAD.more
    if (seats.sought.length > 0) picture.notePlaced(model, home)
    return true
  }

  function keyOf(accountId: string, secret: string): string {
    const known = keys.get(accountId)
    if (known !== undefined) return known
    const key = createHmac('sha256', secret).update(`seats ${accountId}`).digest('base64url')
    keys.set(accountId, key)
    return key
  }
}

/** Returns twice the mean time until a slot of a full worker becomes free, within the two limits. */
function toHeldMs(picture: Picture, model: string): number {
  const { slots = 1, meanGenerationMs } = picture.find(model) ?? {}
  const ofOne = slots / Math.max(1, picture.countWorkers(model))
  return Math.min(LONGEST_HELD_MS, Math.max(LEAST_HELD_MS, (2 * (meanGenerationMs ?? 0)) / ofOne))
}
