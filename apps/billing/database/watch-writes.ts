import { DatabaseError, type PoolClient } from 'pg'

/** How long a refused write counts. Without requests, nothing would show that the database has room again. */
const COUNTS_MS = 10_000

/** SQLSTATE codes with which PostgreSQL reports that it cannot write: the disk is full, or fails. */
const CANNOT_WRITE = /^(?:53100|58030)$/

/** Remembers the last error of a money function with which PostgreSQL reported that it could not write. */
export function watchWrites(nowMs: () => number): {
  noteFailure: (error: unknown) => void
  problem: () => string | null
} {
  let last = { reason: '', atMs: -Infinity }
  return {
    noteFailure(error) {
      if (!(error instanceof DatabaseError) || !CANNOT_WRITE.test(error.code ?? '')) return
      last = { reason: `the database cannot write: ${error.message}`, atMs: nowMs() }
    },
    problem: () => (nowMs() - last.atMs < COUNTS_MS ? last.reason : null),
  }
}

/**
 * Returns a sentence while a commit of this login has been waiting for a synchronous standby for seconds, else null. A
 * test commit would show the same, but would leave a waiting session at each check. The login sees the state of its own
 * sessions, but the service's role does not.
 */
export async function findHangingCommit(client: PoolClient): Promise<string | null> {
  const result: unknown = await client.query(`begin; set local role none;
    select from pg_stat_activity where usename = session_user and wait_event = 'SyncRep'
      and state_change < clock_timestamp() - interval '3 seconds';
    commit`)
  const waits =
    Array.isArray(result) && result.some(({ command, rowCount }) => command === 'SELECT' && rowCount > 0)
  return waits ? 'the database confirms no commit: it waits for its synchronous standby' : null
}
