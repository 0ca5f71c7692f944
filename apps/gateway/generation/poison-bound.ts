import { randomUUID } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { killersKey } from '#libs/generation-record/keys.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

export type PoisonBound = {
  /** A request of this account ended because engines died of it, at our cost. */
  note(accountId: string): void
  isBarred(accountId: string): boolean
  /** Reads what all gateways have noted. Call it every second. */
  tick(): Promise<void>
}

/** Each of them has cost two engines. */
const MOST_POISONS = 3
const WITHIN_MS = 10 * 60_000
/** The latest of them count: each has cost engines, so there are never nearly as many. */
const MOST_NOTES = 1_000

/** `atMs`: by the queue Redis' clock. */
type Note = { readonly member: string; readonly accountId: string; readonly atMs: number }

/**
 * Bounds what an account may break. A request that kills engines ends after its second engine, free of charge; an account
 * that sent three of them within ten minutes, with whatever keys and to whatever gateways, is refused with `model_busy`
 * until the first is ten minutes ago.
 *
 * The notes of all gateways are one sorted set in the queue Redis, by time, and each gateway has a copy that is a second
 * old at most. What Redis has not confirmed is written again with the next reading; what it has lost is known to the
 * gateway that noted it for as long as it counts.
 */
export function createPoisonBound(deps: {
  redis: Redis | Cluster
  /** The queue Redis' clock. */
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
      .zadd(killersKey, note.atMs, note.member)
      .zremrangebyscore(killersKey, '-inf', oldestMs())
      .zremrangebyrank(killersKey, 0, -1 - MOST_NOTES)
      .pexpire(killersKey, WITHIN_MS)
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
      read = toNotes(await redis.zrangebyscore(killersKey, oldestMs(), '+inf', 'WITHSCORES'))
      count()
    },
  }
}

/** Of `member, score, member, score …`. */
function toNotes(answer: readonly string[]): Note[] {
  const notes: Note[] = []
  for (let at = 0; at + 1 < answer.length; at += 2) {
    const [member = '', atMs] = answer.slice(at, at + 2)
    notes.push({ member, accountId: member.split(' ')[0] ?? '', atMs: Number(atMs) })
  }
  return notes
}
