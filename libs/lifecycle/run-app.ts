import type { z } from 'zod'
import { ConfigError, loadConfig, type Environment } from '#libs/config/load-config.ts'
import { createLogger, type Logger } from '#libs/telemetry/logger.ts'
import { createReleasers, type Releasers } from './releasers.ts'

/**
 * Runs one app: reads its configuration from the environment, then `start` opens its resources and registers a release
 * for each. A wrong configuration, also one that `start` finds, prints one sentence on standard error and exits with 1.
 * On SIGTERM, SIGINT or a failed start the resources are released in reverse order, each within its own limit, and the
 * process exits: with 0 after a signal, with 1 after a failure. A second signal exits at once.
 *
 * An unhandled rejection or exception is a bug: it is logged and ends the process with 1, because a process in an unknown
 * state must not handle money.
 */
export async function runApp<Schema extends z.ZodType<{ LOG_LEVEL: string }>>(
  app: { name: string; schema: Schema; environment: Environment },
  start: (context: { config: Readonly<z.infer<Schema>>; log: Logger; releasers: Releasers }) => Promise<void>,
): Promise<void> {
  const config = loadConfigOrExit(app.name, app.schema, app.environment)
  const log = createLogger(app.name, config.LOG_LEVEL)
  const releasers = createReleasers(log)
  let stopping = false

  async function stop(reason: string, exitCode: number) {
    if (stopping) process.exit(exitCode === 0 ? 130 : exitCode)
    stopping = true
    log.info({ reason }, 'stopping')
    await releasers.releaseAll()
    log.info({ reason }, 'stopped')
    process.exit(exitCode)
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => void stop(signal, 0))
  }
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception')
    void stop('uncaught exception', 1)
  })
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'unhandled rejection')
    void stop('unhandled rejection', 1)
  })

  try {
    await start({ config, log, releasers })
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`${app.name}: ${error.message}\n`)
    else log.fatal({ err: error }, 'could not start')
    await stop('could not start', 1)
  }
}

function loadConfigOrExit<Schema extends z.ZodType>(name: string, schema: Schema, environment: Environment) {
  try {
    return loadConfig(schema, environment)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${name}: ${error.message}\n`)
    return process.exit(1)
  }
}
