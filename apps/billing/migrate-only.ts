import { ConfigError, loadConfig, type Environment } from '#libs/config/load-config.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { MigrationConfig } from './config.ts'
import { migrateAs } from './database/migrate-as.ts'

/** The longest wait for the database. A job must end, because a job that waits for ever looks like a job that works. */
const DATABASE_WAIT_MS = 10 * 60_000

/**
 * Migrates the database and serves nothing: for an init container or a job with the owner's login. Resolves with the
 * exit code: 0 once the database has this version's schema or a newer one, 1 after a failure. A failure is logged; a
 * wrong configuration is printed in one sentence. A signal ends the process with exit code 1. The part of the schema
 * that was being run is then not recorded, and the next migration runs this part again. If the part was the file of
 * indexes, the finished indexes stay.
 */
export async function migrateOnly(environment: Environment): Promise<number> {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1))
  let log = createLogger('billing', 'info')
  try {
    const config = loadConfig(MigrationConfig, environment)
    log = createLogger('billing', config.LOG_LEVEL)
    await migrateAs({ url: config.DATABASE_OWNER_URL, log, waitMs: DATABASE_WAIT_MS })
    log.info('the database is migrated')
    return 0
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`billing: ${error.message}\n`)
    else log.fatal({ err: error }, 'could not migrate')
    return 1
  }
}
