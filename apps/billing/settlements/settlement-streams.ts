import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'
import { z } from 'zod'
import {
  livenessKey,
  orphansKey,
  settlementMarkKey,
  settlementStateKey,
  settlementStreamKey,
} from '#libs/queue-redis/keys.ts'
import { parseStreamId, type StreamId } from './stream-id.ts'

/** A model whose stream could not be read or changed, and why. */
export type StreamFailure = { readonly model: string; readonly error: unknown }

/** One entry of a stream; `fields` is null when the entry was deleted. */
export type StreamEntry = {
  readonly model: string
  readonly id: string
  readonly fields: readonly string[] | null
}

export type StreamState = {
  readonly lastId: StreamId
  readonly deliveredId: StreamId
  readonly oldestPendingId: StreamId | null
  /** Redis time of the latest observation that the database has recorded; null: unknown. */
  readonly confirmedMs: number | null
  readonly length: number
  /** The id of the oldest entry; null if the stream has no entries. */
  readonly oldestId: StreamId | null
}

/** A stream at one instant of its Redis server. */
export type StreamObservation = {
  /** The run id, as in `SettlementMark`. It consists of `server` and `incarnation`. */
  readonly runId: string
  /**
   * The part of the run id that names the Redis server. It differs between servers, and it changes when a server is
   * restarted or promoted.
   */
  readonly server: string
  readonly incarnation: string
  /** True if entries, or the whole stream, were lost since the last observation. `incarnation` is then new. */
  readonly lost: boolean
  readonly timeMs: number
  /** The number of entries that could not be settled. */
  readonly deadLetters: number
  /** The state of the stream; null if the stream or billing's consumer group does not exist. */
  readonly stream: StreamState | null
}

/** The id before all others; also Redis' reply when a claim has reached the end. */
export const STREAM_START = '0-0'

/** The consumer group of all of billing's replicas, so that each entry goes to one of them. */
const GROUP = 'billing'

const DEAD_LETTERS_KEPT = 10_000

/**
 * The limits of an entry that is moved to the dead letters (`bury`). Lua passes at most some thousands of values to one
 * command. An entry that could not be moved would stop the settlements of its model.
 */
const MOST_BURIED_FIELDS = 200
const MOST_REASON_CHARACTERS = 1_000

/** Under this key Redis keeps, for operators, a model's settlements that cannot be read or settled. */
export const deadLetterKey = (model: string) => `${settlementStreamKey(model)}:dead`

/**
 * Under this key Redis keeps the time of the latest observation of the model's stream (`ObservedStream`) that the
 * database has recorded.
 */
const confirmedKey = (model: string) => `${settlementStreamKey(model)}:confirmed`

/**
 * The settlement streams, for one consumer of billing's consumer group. Every command is about one model, whose keys a
 * Redis Cluster keeps on one node: while a node is away, the models of the other nodes go on. The exception is
 * `readNew`: if one server has all models, `readNew` reads many models with one command. With one command for each
 * model, a thousand idle streams would cost a thousand commands.
 */
export function createSettlementStreams(options: { redis: Redis | Cluster; consumer: string }) {
  const { redis, consumer } = options

  /** Reads at most `count` entries of each model. */
  async function read(models: readonly string[], start: string, count: number): Promise<StreamEntry[]> {
    const modelOf = new Map(models.map((model) => [settlementStreamKey(model), model]))
    const places = [...modelOf.keys(), ...models.map(() => start)]
    const reply = ReadReply.parse(
      await redis.xreadgroup('GROUP', GROUP, consumer, 'COUNT', count, 'STREAMS', ...places),
    )
    return (reply ?? []).flatMap(([key, entries]) => {
      const model = modelOf.get(key)
      if (model === undefined)
        throw new Error(`Redis answered with the stream ${key}, which was not asked for`)
      return entries.map(([id, fields]) => ({ model, id, fields }))
    })
  }

  /**
   * Reads new entries of one model. Creates billing's consumer group if it does not exist. A new group begins with the
   * first entry of the stream.
   */
  async function readNewOf(model: string, count: number): Promise<StreamEntry[]> {
    try {
      return await read([model], '>', count)
    } catch (error) {
      if (!isNoGroup(error)) throw error
    }
    try {
      await redis.xgroup('CREATE', settlementStreamKey(model), GROUP, '0', 'MKSTREAM')
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('BUSYGROUP'))) throw error
    }
    return await read([model], '>', count)
  }

  return {
    /**
     * Reads entries that no consumer has received, at most `count` of each model, and returns the models that could not
     * be read.
     */
    async readNew(
      models: readonly string[],
      count: number,
    ): Promise<{ entries: StreamEntry[]; failures: StreamFailure[] }> {
      if (models.length > 1 && !redis.isCluster) {
        try {
          return { entries: await read(models, '>', count), failures: [] }
        } catch (error) {
          // One stream without a group, or one key that is not a stream, makes the whole command fail. In that case
          // each model is read by a command of its own.
          if (!isReply(error)) return { entries: [], failures: models.map((model) => ({ model, error })) }
        }
      }
      const results = await Promise.allSettled(models.map((model) => readNewOf(model, count)))
      return {
        entries: results.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
        failures: toFailures(results, models),
      }
    },

    /**
     * Reads at most `count` entries that this consumer has received and not acknowledged. Returns no entries when a
     * failover has lost the consumer group.
     */
    readOwn: async (model: string, count: number): Promise<StreamEntry[]> =>
      await read([model], '0', count).catch(noneWithoutGroup([])),

    /**
     * Claims at most `count` entries, from the id `start` on, that were delivered at least `minIdleMs` ago and are not
     * acknowledged. `next` is the id to continue from, or null at the end. A call may return no entries before the end:
     * Redis examines only a few thousand entries per call, and another consumer may just have claimed the first
     * entries. Returns no entries when a failover has lost the consumer group.
     */
    async claim(
      model: string,
      { start, minIdleMs, count }: { start: string; minIdleMs: number; count: number },
    ): Promise<{ entries: StreamEntry[]; next: string | null }> {
      const key = settlementStreamKey(model)
      const [next, claimed] = ClaimReply.parse(
        await redis
          .xautoclaim(key, GROUP, consumer, minIdleMs, start, 'COUNT', count)
          .catch(noneWithoutGroup([STREAM_START, []])),
      )
      const entries = claimed.map(([id, fields]) => ({ model, id, fields }))
      return { entries, next: next === STREAM_START ? null : next }
    },

    /** Acknowledges entries, all of one model. */
    async acknowledge(model: string, entries: readonly StreamEntry[]): Promise<void> {
      await redis.xack(settlementStreamKey(model), GROUP, ...entries.map(({ id }) => id))
    },

    /** Moves an entry to the dead letters, with at most 200 of its names and values, and acknowledges it. */
    async bury(entry: StreamEntry, reason: string): Promise<void> {
      const keys = [settlementStreamKey(entry.model), deadLetterKey(entry.model)]
      const fields = (entry.fields ?? []).slice(0, MOST_BURIED_FIELDS)
      const cut = reason.slice(0, MOST_REASON_CHARACTERS)
      await redis.eval(BURY, 2, ...keys, GROUP, entry.id, cut, DEAD_LETTERS_KEPT, ...fields)
    },

    /** Also moves the model's orphans (`orphansKey`) to the stream. */
    async observe(model: string): Promise<StreamObservation> {
      const stream = settlementStreamKey(model)
      const others = [confirmedKey(model), deadLetterKey(model), orphansKey(model)]
      const keys = [stream, settlementStateKey(model), ...others]
      const reply = ObserveReply.parse(await redis.eval(OBSERVE, 5, ...keys, GROUP, newIncarnation()))
      const [seconds, microseconds, run, replication, incarnation, lost, deadLetters, state] = reply
      const server = `${run}:${replication}`
      return {
        runId: `${server}:${incarnation}`,
        server,
        incarnation,
        lost: lost === 1,
        timeMs: seconds * 1000 + Math.floor(microseconds / 1000),
        deadLetters,
        stream: toStreamState(state),
      }
    },

    /** Gives the stream a new incarnation, because `incarnation` has lost entries. */
    async renew(model: string, incarnation: string): Promise<void> {
      await redis.eval(RENEW, 1, settlementStateKey(model), incarnation, newIncarnation())
    },

    /**
     * Stores two facts about the stream:
     * - `recordedMs`: the time of the latest observation (`ObservedStream`) that the database has recorded.
     * - `runId` and `committedMs`, which together are the mark (`SettlementMark`): the database has committed all
     *   entries that were appended up to `committedMs` in this run. Gateways keep a settlement until the mark has
     *   passed the settlement's time.
     *
     * If a time is null, because it is unknown or is stored already, the stored value stays.
     */
    async confirm(
      model: string,
      mark: { runId: string; recordedMs: number | null; committedMs: number | null },
    ): Promise<void> {
      const { runId, recordedMs, committedMs } = mark
      if (recordedMs === null && committedMs === null) return
      const keys = [confirmedKey(model), settlementMarkKey(model)]
      await redis.eval(
        CONFIRM,
        2,
        ...keys,
        recordedMs ?? '',
        committedMs === null ? '' : `${runId} ${committedMs}`,
      )
    },

    /**
     * Lets billing's consumer group read the entries since `fromMs` again. This is needed if the database has lost an
     * observation whose time, `confirmedMs`, is stored in Redis (`confirm`). Returns false when another replica has
     * already done this.
     */
    async readAgain(model: string, confirmedMs: number, fromMs: number): Promise<boolean> {
      const keys = [settlementStreamKey(model), confirmedKey(model), settlementMarkKey(model)]
      // The last id of the preceding millisecond.
      const after = fromMs <= 0 ? '0-0' : `${fromMs - 1}-18446744073709551615`
      return (await redis.eval(READ_AGAIN, 3, ...keys, GROUP, confirmedMs, after)) === 1
    },

    /** Drops the entries before `id`. */
    async trim(model: string, id: string): Promise<void> {
      await redis.eval(TRIM, 2, settlementStreamKey(model), settlementStateKey(model), id)
    },

    /** Removes consumers that have been idle for `idleMs`. */
    async forgetConsumers(model: string, idleMs: number): Promise<void> {
      await redis.eval(FORGET_CONSUMERS, 1, settlementStreamKey(model), GROUP, '', idleMs)
    },

    /** Removes this consumer, unless it has unacknowledged entries. */
    async leave(model: string): Promise<void> {
      await redis.eval(FORGET_CONSUMERS, 1, settlementStreamKey(model), GROUP, consumer, 0)
    },

    isGatewayAlive: async (gateway: string): Promise<boolean> =>
      (await redis.exists(livenessKey('gateway', gateway))) === 1,

    /** Ends the connection; waiting commands reject. */
    disconnect() {
      redis.disconnect()
    },
  }
}

export type SettlementStreams = ReturnType<typeof createSettlementStreams>

const OBSERVE = readScript('observe')
const RENEW = readScript('renew')
const TRIM = readScript('trim')
const BURY = readScript('bury')
const CONFIRM = readScript('confirm')
const READ_AGAIN = readScript('read-again')
const FORGET_CONSUMERS = readScript('forget-consumers')

const newIncarnation = () => randomBytes(6).toString('hex')

function readScript(name: string): string {
  return readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')
}

/** Handles an error in `catch`: returns `none` if the consumer group does not exist, and throws every other error. */
function noneWithoutGroup<None>(none: None): (error: unknown) => None {
  return (error) => {
    if (isNoGroup(error)) return none
    throw error
  }
}

const isReply = (error: unknown) => error instanceof Error && error.name === 'ReplyError'

const isNoGroup = (error: unknown) => error instanceof Error && error.message.startsWith('NOGROUP')

/** Returns the failures among results that are in the order of `models`. */
export function toFailures(
  results: readonly PromiseSettledResult<unknown>[],
  models: readonly string[],
): StreamFailure[] {
  return results.flatMap((result, index): StreamFailure[] =>
    result.status === 'rejected' ? [{ model: models[index] ?? '', error: result.reason }] : [],
  )
}

const Entry = z.tuple([z.string(), z.array(z.string()).nullable()])
const ReadReply = z.array(z.tuple([z.string(), z.array(Entry)])).nullable()
const ClaimReply = z.tuple([z.string(), z.array(Entry)]).rest(z.unknown())
const ObserveReply = z.tuple([
  z.coerce.number(),
  z.coerce.number(),
  z.string(),
  z.string(),
  z.string(),
  z.int(),
  z.int(),
  z.array(z.string()),
])

function toStreamState(reply: readonly string[]): StreamState | null {
  const [lastId, deliveredId, oldestPendingId, confirmedMs, length, oldestId] = reply
  if (lastId === undefined || deliveredId === undefined) return null
  return {
    lastId: parseStreamId(lastId),
    deliveredId: parseStreamId(deliveredId),
    oldestPendingId: oldestPendingId ? parseStreamId(oldestPendingId) : null,
    confirmedMs: confirmedMs ? Number(confirmedMs) : null,
    length: Number(length),
    oldestId: oldestId ? parseStreamId(oldestId) : null,
  }
}
