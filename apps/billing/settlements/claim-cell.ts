import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { z } from 'zod'
import { databaseClaimKey, queueIdKey } from '#libs/queue-redis/keys.ts'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

/** The names of both servers, without logins, for messages to operators. */
export type CellPlaces = { readonly cell: string; readonly queue: string; readonly database: string }

export type CellClaim = {
  /**
   * Resolves with true when this process has claimed both servers: the queue Redis and the database. Resolves with
   * false when a server does not answer, because it is then unknown who has claimed that server. While another cell has
   * claimed the queue or the database, the function waits and calls `onWait`.
   */
  first(onWait: (reason: string) => void): Promise<boolean>
  /** Resolves once this process has claimed both servers. */
  readonly held: Promise<void>
  stop(): void
}

const DEFAULT_LIMITS = { everyMs: 10_000, lastingMs: 60_000 }

/**
 * Claims the queue Redis for this billing's database, and the database for this queue, and renews both claims every
 * `everyMs`. A claim ends by itself if it is not renewed for `lastingMs`. So when a database or a queue is replaced,
 * the old claim ends without an operator's action.
 *
 * A cell is a set of processes with one queue Redis, one PostgreSQL and their bus. If two cells used the same queue or
 * the same database, each would charge the other's generations and expire the other's holds. This can happen by
 * accident: a setting was copied, or a second installation has a URL of the first. Billing is the only process that
 * knows both the queue and the database. So while another cell has claimed one of them, billing takes no settlement and
 * no call. If it finds the other cell only later, because a server did not answer for long, it calls `onLost`.
 *
 * A queue that was emptied has lost its id. It gets back the id that this process knows, so that the database's claim
 * stays valid.
 */
export function claimCell(options: {
  redis: RedisClient
  pool: Pool
  places: CellPlaces
  onLost: (reason: string) => void
  log: Logger
  limits?: typeof DEFAULT_LIMITS
}): CellClaim {
  const { redis, pool, places, onLost, log, limits = DEFAULT_LIMITS } = options
  const stopping = new AbortController()
  const keys = [databaseClaimKey(), queueIdKey()] as const
  const held = Promise.withResolvers<void>()
  let queueId: string = randomUUID()
  let databaseId: string | null = null

  /** Returns the reason why this process has not claimed both servers; null if it has. */
  async function claim(): Promise<string | null> {
    databaseId ??= DatabaseRow.parse((await pool.query(READ_DATABASE_ID)).rows[0]).id
    const claiming = [databaseId, places.database, limits.lastingMs, queueId] as const
    const [id, otherDatabase] = ClaimReply.parse(await redis.eval(CLAIM_DATABASE, 2, ...keys, ...claiming))
    const { cell, queue, database } = places
    if (otherDatabase !== '') {
      return `the queue Redis ${queue} serves the database ${otherDatabase} in the cell ${cell}, and not ${database}`
    }
    queueId = id
    const { rows } = await pool.query('select holder from claim_queue($1, $2, $3)', [
      queueId,
      queue,
      `${limits.lastingMs} ms`,
    ])
    const { holder } = HolderRow.parse(rows[0])
    return holder === null
      ? null
      : `the database ${database} serves the queue Redis ${holder}, and not ${queue}`
  }

  /** Tries once to claim both servers. Returns whether this process has claimed them; null if that is not known. */
  async function look(onRefused: (reason: string) => void): Promise<boolean | null> {
    try {
      const reason = await claim()
      if (reason !== null) {
        log.error({ cell: places.cell }, `${reason}: two cells share it; give each its own, or names by CELL`)
        onRefused(reason)
        return false
      }
      held.resolve()
      return true
    } catch (error) {
      if (!stopping.signal.aborted) log.warn({ err: error }, 'the claim of the cell was not renewed')
      return null
    }
  }

  const pause = async () => {
    await sleep(limits.everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  async function renew() {
    for (;;) {
      await pause()
      if (stopping.signal.aborted) return
      await look(onLost)
    }
  }

  return {
    held: held.promise,
    async first(onWait) {
      for (;;) {
        const answer = await look(onWait)
        if (answer !== false || stopping.signal.aborted) {
          void renew()
          return answer === true
        }
        await pause()
      }
    },
    stop: () => stopping.abort(),
  }
}

const CLAIM_DATABASE = readFileSync(new URL('./scripts/claim-database.lua', import.meta.url), 'utf8')

/**
 * Reads the id in the table `cell`, a dot, and the number that PostgreSQL has given the database on its server. A copy
 * of the database on the same server has the same id but another number. A copy on another server has the same id, and
 * may by chance have the same number too.
 */
const READ_DATABASE_ID = `
  select format('%s.%s', c.database_id, d.oid) as id
  from cell c, pg_database d where d.datname = current_database()`

const ClaimReply = z.tuple([z.uuid(), z.string()])
const DatabaseRow = z.object({ id: z.string() })
const HolderRow = z.object({ holder: z.string().nullable() })
