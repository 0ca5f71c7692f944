import type { Logger } from '#libs/telemetry/logger.ts'
import { migrate } from './migrate.ts'
import { openPool } from './open-pool.ts'

/**
 * Migrates the database with the login of `url`, which owns the tables. At the end, closes the connections that it has
 * opened. Throws the errors of `openPool` and `migrate`.
 */
export async function migrateAs(options: {
  url: string
  log: Logger
  waitMs: number
  onWait?: (reason: string) => void
  onConnected?: () => void
}): Promise<void> {
  const { log, onConnected, ...connecting } = options
  const owner = await openPool({ ...connecting, log })
  try {
    onConnected?.()
    await migrate(owner, log)
  } finally {
    await owner.end()
  }
}
