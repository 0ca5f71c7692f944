import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { settlementStreamKey } from '#libs/generation-record/keys.ts'
import { parseStreamId, type StreamId } from './stream-id.ts'

/** One entry of a stream; `fields` is null when it was deleted. */
export type StreamEntry = {
  readonly model: string
  readonly id: string
  readonly fields: readonly string[] | null
}

/** One stream at one instant; null when the stream or our group does not exist. */
export type StreamState = {
  readonly lastId: StreamId
  readonly deliveredId: StreamId
  readonly oldestPendingId: StreamId | null
  /** Redis time of the latest observation that the database has recorded; null: unknown. */
  readonly confirmedMs: number | null
  readonly length: number
  /** Null: no entries. */
  readonly oldestId: StreamId | null
}

export type StreamsState = {
  readonly runId: string
  readonly timeMs: number
  readonly streams: ReadonlyMap<string, StreamState | null>
}

/** The id before all others; also Redis' reply when a claim has reached the end. */
export const STREAM_START = '0-0'

/** All of billing's replicas read as this group, so that each entry goes to one of them. */
const GROUP = 'billing'

/** The most entries of a stream in one read. */
const READ_COUNT = 256

const DEAD_LETTERS_KEPT = 10_000

/** A model's unreadable settlements, for operators. */
export const deadLetterKey = (model: string) => `${settlementStreamKey(model)}:dead`

/** The time of the latest observation of the model's stream that the database has recorded. */
const confirmedKey = (model: string) => `${settlementStreamKey(model)}:confirmed`

/** The settlement streams of all models, for one consumer of the group. `blocking` is used for blocking reads only. */
export function createSettlementStreams(options: { redis: Redis; blocking: Redis; consumer: string }) {
  const { redis, blocking, consumer } = options

  return {
    /** Creates stream and group if they do not exist; the group begins at the stream's first entry. */
    async ensureGroup(model: string): Promise<void> {
      try {
        await redis.xgroup('CREATE', settlementStreamKey(model), GROUP, '0', 'MKSTREAM')
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('BUSYGROUP'))) throw error
      }
    },

    /** New entries of any of these models; none after `blockMs`. */
    async read(models: readonly string[], blockMs: number): Promise<StreamEntry[]> {
      const keys = models.map(settlementStreamKey)
      const arguments_ = [...keys, ...keys.map(() => '>')]
      const reply = ReadReply.parse(
        // oxfmt-ignore
        await blocking.xreadgroup(
          'GROUP', GROUP, consumer, 'COUNT', READ_COUNT, 'BLOCK', blockMs, 'STREAMS', ...arguments_,
        ),
      )
      const modelOf = new Map(keys.map((key, index) => [key, models[index] ?? '']))
      return (reply ?? []).flatMap(([key, entries]) =>
        entries.map(([id, fields]) => ({ model: modelOf.get(key) ?? '', id, fields })),
      )
    },

    /**
     * Claims entries from the id `start` on that were delivered at least `minIdleMs` ago and are not acknowledged.
     * `next` is the id to continue from, null at the end: Redis examines a few thousand entries per call, and the
     * first ones may just have been claimed.
     */
    async claim(
      model: string,
      { start, minIdleMs }: { start: string; minIdleMs: number },
    ): Promise<{ entries: StreamEntry[]; next: string | null }> {
      const key = settlementStreamKey(model)
      const [next, claimed] = ClaimReply.parse(
        await redis.xautoclaim(key, GROUP, consumer, minIdleMs, start, 'COUNT', READ_COUNT),
      )
      const entries = claimed.map(([id, fields]) => ({ model, id, fields }))
      return { entries, next: next === STREAM_START ? null : next }
    },

    async acknowledge(entries: readonly StreamEntry[]): Promise<void> {
      for (const [model, ofModel] of Map.groupBy(entries, (entry) => entry.model)) {
        await redis.xack(settlementStreamKey(model), GROUP, ...ofModel.map((entry) => entry.id))
      }
    },

    /** Moves an entry to the dead letters and acknowledges it. */
    async bury(entry: StreamEntry, reason: string): Promise<void> {
      const keys = [settlementStreamKey(entry.model), deadLetterKey(entry.model)]
      const fields = entry.fields ?? []
      await redis.eval(BURY, 2, ...keys, GROUP, entry.id, reason, DEAD_LETTERS_KEPT, ...fields)
    },

    async observe(models: readonly string[]): Promise<StreamsState> {
      const keys = [...models.map(settlementStreamKey), ...models.map(confirmedKey)]
      const reply = ObserveReply.parse(await redis.eval(OBSERVE, keys.length, ...keys, GROUP))
      const [seconds, microseconds, runId, states] = reply
      return {
        runId,
        timeMs: seconds * 1000 + Math.floor(microseconds / 1000),
        streams: new Map(models.map((model, index) => [model, toStreamState(states[index] ?? [])])),
      }
    },

    /** Stores that the database has recorded an observation of that time. */
    async confirm(models: readonly string[], timeMs: number): Promise<void> {
      if (models.length === 0) return
      await redis.eval(CONFIRM, models.length, ...models.map(confirmedKey), timeMs)
    },

    /**
     * Lets the group read the entries since `fromMs` again, because the database has lost an observation that it had
     * confirmed. False when another replica has done it.
     */
    async readAgain(model: string, confirmedMs: number, fromMs: number): Promise<boolean> {
      const keys = [settlementStreamKey(model), confirmedKey(model)]
      // The last id of the millisecond before.
      const after = fromMs <= 0 ? '0-0' : `${fromMs - 1}-18446744073709551615`
      return (await redis.eval(READ_AGAIN, 2, ...keys, GROUP, confirmedMs, after)) === 1
    },

    /** Drops the entries before `id`. */
    async trim(model: string, id: string): Promise<void> {
      await redis.xtrim(settlementStreamKey(model), 'MINID', '~', id)
    },

    /** Removes consumers that have been idle for `idleMs`. */
    async forgetConsumers(models: readonly string[], idleMs: number): Promise<void> {
      const keys = models.map(settlementStreamKey)
      await redis.eval(FORGET_CONSUMERS, keys.length, ...keys, GROUP, '', idleMs)
    },

    /** Ends both connections; waiting commands reject. */
    disconnect() {
      blocking.disconnect()
      redis.disconnect()
    },

    /** Removes this consumer where it has no unacknowledged entries. */
    async leave(models: readonly string[]): Promise<void> {
      const keys = models.map(settlementStreamKey)
      await redis.eval(FORGET_CONSUMERS, keys.length, ...keys, GROUP, consumer, 0)
    },
  }
}

export type SettlementStreams = ReturnType<typeof createSettlementStreams>

const OBSERVE = readScript('observe')
const BURY = readScript('bury')
const CONFIRM = readScript('confirm')
const READ_AGAIN = readScript('read-again')
const FORGET_CONSUMERS = readScript('forget-consumers')

function readScript(name: string): string {
  return readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')
}

const Entry = z.tuple([z.string(), z.array(z.string()).nullable()])
const ReadReply = z.array(z.tuple([z.string(), z.array(Entry)])).nullable()
const ClaimReply = z.tuple([z.string(), z.array(Entry)]).rest(z.unknown())
const ObserveReply = z.tuple([z.coerce.number(), z.coerce.number(), z.string(), z.array(z.array(z.string()))])

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
