import { randomUUID } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { killersKey } from '#libs/queue-redis/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

export type PoisonBound = {
  /**
   * Notes that a request of this account was ended because engines died of it. The account does not pay for the
   * request.
   */
  note(accountId: string): void
  isBarred(accountId: string): boolean
  /** Reads the notes of all gateways. Must be called every second. */
  tick(): Promise<void>
}

/**
 * An account's new requests are refused if, within the last `WITHIN_MS`, this many of its earlier requests were ended
 * as killers of engines. Each of these earlier requests was present at two or more engine deaths.
 */
const MOST_POISONS = 3
const WITHIN_MS = 10 * 60_000
/** The most notes that are kept. Each note stands for engines that died, so there are always far fewer. */
const MOST_NOTES = 1_000

/** `atMs` is a time of the queue Redis' clock. */
type Note = { readonly member: string; readonly accountId: string; readonly atMs: number }

/**
 * Limits how many engines an account may kill. A request that kills engines ends after its second engine, in some cases
 * after its third, free of charge. The gateways count these ended requests for each account, over all keys of the
 * account and all gateways. If an account has had three of them in the last ten minutes, its new requests are refused
 * with `model_busy`.
 *
 * A gateway makes a note for each request that it ends in this way. The notes of all gateways are one sorted set in the
 * queue Redis, ordered by time. Each gateway has a copy of the set that is at most a second old. A note that Redis has
 * not confirmed is written again before the next reading. If Redis loses a note, the gateway that made the note still
 * counts it for the whole ten minutes.
 */
export function createPoisonBound(deps: {
  redis: Redis | Cluster
  /** Returns the queue Redis' time. */
  redisNowMs: () => number
  log: Logger
}): PoisonBound {
  const { redis, redisNowMs, log } = deps
  let own: readonly Note[] = []
  let read: readonly Note[] = []
  const unwritten = new Set<Note>()
  let byAccount: ReadonlyMap<string, readonly Note[]> = new Map()

  const oldestMs = () => redisNowMs() - WITHIN_MS
  const recent = (accountId: string) =>
    (byAccount.get(accountId) ?? []).filter(({ atMs }) => atMs > oldestMs())

  async function write(note: Note): Promise<void> {
    await redis
      .multi()
      .zadd(killersKey(), note.atMs, note.member)
      .zremrangebyscore(killersKey(), '-inf', oldestMs())
      .zremrangebyrank(killersKey(), 0, -1 - MOST_NOTES)
      .pexpire(killersKey(), WITHIN_MS)
      .exec()
    unwritten.delete(note)
  }

  function count(): void {
    const members = new Map([...read, ...own].map((note) => [note.member, note]))
    byAccount = Map.groupBy(members.values(), ({ accountId }) => accountId)
  }

  return {
    note(accountId) {
      const note = { member: `${accountId} ${randomUUID()}`, accountId, atMs: redisNowMs() }
      own = [...own.filter(({ atMs }) => atMs > oldestMs()), note].slice(-MOST_NOTES)
      unwritten.add(note)
      count()
      write(note).catch((error: unknown) => log.warn({ err: error }, 'a killer of engines was not noted yet'))
    },
    isBarred: (accountId) => byAccount.has(accountId) && recent(accountId).length >= MOST_POISONS,
    async tick() {
      await Promise.all([...unwritten].map(write))
      read = toNotes(await redis.zrangebyscore(killersKey(), oldestMs(), '+inf', 'WITHSCORES'))
      count()
    },
  }
}

/** Converts an answer of the form `member, score, member, score …`. */
function toNotes(answer: readonly string[]): Note[] {
  const notes: Note[] = []
  for (let at = 0; at + 1 < answer.length; at += 2) {
    const [member = '', atMs] = answer.slice(at, at + 2)
    notes.push({ member, accountId: member.split(' ')[0] ?? '', atMs: Number(atMs) })
  }
  return notes
}
