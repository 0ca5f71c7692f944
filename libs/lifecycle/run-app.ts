import { setFlagsFromString } from 'node:v8'
import type { z } from 'zod'
import { joinCell } from '#libs/config/cell.ts'
import { ConfigError, loadConfig, type Environment } from '#libs/config/load-config.ts'
import { followExtraAuthorities } from '#libs/certificates/follow-extra-authorities.ts'
import { redactCredentials } from '#libs/telemetry/loggable-error.ts'
import { createLogger, type Logger } from '#libs/telemetry/logger.ts'
import { createReleasers, type Releasers } from './releasers.ts'

export type AppContext<Config> = {
  readonly config: Config
  readonly log: Logger
  readonly releasers: Releasers
  /** Stops the app as a signal does, and exits with 1. */
  readonly fail: (reason: string) => void
}

/**
 * Runs one app: reads its configuration from the environment, then calls `start`, which opens the app's resources and
 * registers, for each resource, a function that releases it. If the configuration is wrong, or if `start` throws a
 * ConfigError, the app prints one sentence on standard error and exits with 1. On SIGTERM, SIGINT or a failed start the
 * resources are released in reverse order, each within its own time limit. The process then exits: with 0 after a
 * signal, with 1 after a failure. On a second SIGINT, as a person at a terminal sends it, the process exits at once. A
 * second SIGTERM has no effect, because a supervisor that is itself restarted during the app's drain, such as a
 * kubelet, sends SIGTERM again.
 *
 * An unhandled rejection or exception is a bug. It is logged, and the app stops as after a failure, because a process
 * in an unknown state must not handle money.
 */
export async function runApp<Schema extends z.ZodType<{ LOG_LEVEL: string; CELL?: string }>>(
  app: { name: string; schema: Schema; environment: Environment },
  start: (context: AppContext<Readonly<z.infer<Schema>>>) => Promise<void>,
): Promise<void> {
  // V8's young generation is mostly a few MB. Waking helper threads to collect it costs more than the threads save.
  // Without them a request takes 5 % less CPU time over all processes, measured at 200 requests/s with the loads of
  // `npm run bench:request`.
  setFlagsFromString('--no-parallel-scavenge')
  keepOutProxies()
  const config = loadConfigOrExit(app.name, app.schema, app.environment)
  joinCell(config.CELL)
  const log = createLogger(app.name, config.LOG_LEVEL)
  logConsole(log)
  const releasers = createReleasers(log)
  releasers.add(
    'extra authorities',
    followExtraAuthorities({ file: app.environment['NODE_EXTRA_CA_CERTS'], log }),
    {
      run: (stop) => stop(),
    },
  )
  let stopping = false
  let interrupts = 0

  /** Releases all resources and exits. If something fails while they are released, the process exits at once. */
  async function stop(reason: string, exitCode: number) {
    if (stopping) {
      if (exitCode === 0) return
      process.exit(exitCode)
    }
    stopping = true
    log.info({ reason }, 'stopping')
    await releasers.releaseAll()
    log.info({ reason }, 'stopped')
    process.exit(exitCode)
  }

  process.on('SIGTERM', () => void stop('SIGTERM', 0))
  process.on('SIGINT', () => {
    interrupts += 1
    if (interrupts > 1) process.exit(130)
    void stop('SIGINT', 0)
  })
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception')
    void stop('uncaught exception', 1)
  })
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'unhandled rejection')
    void stop('unhandled rejection', 1)
  })

  try {
    await start({ config, log, releasers, fail: (reason) => void stop(reason, 1) })
  } catch (error) {
    if (error instanceof ConfigError)
      process.stderr.write(`${app.name}: ${redactCredentials(error.message)}\n`)
    else log.fatal({ err: error }, 'could not start')
    await stop('could not start', 1)
  }
}

/**
 * Keeps `fetch` from using proxies, because all addresses of an app are in its own cluster. With NODE_USE_ENV_PROXY,
 * Node's `fetch` uses the proxies of the environment, for loopback addresses too. At each request it reads from
 * `no_proxy` and `NO_PROXY` which hosts it must reach without a proxy; `*` means all hosts.
 */
function keepOutProxies(): void {
  // oxlint-disable-next-line node/no-process-env -- the variables are Node's
  for (const name of ['no_proxy', 'NO_PROXY']) process.env[name] = '*'
}

function loadConfigOrExit<Schema extends z.ZodType>(name: string, schema: Schema, environment: Environment) {
  try {
    return loadConfig(schema, environment)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${name}: ${redactCredentials(error.message)}\n`)
    return process.exit(1)
  }
}

const MOST_CHARACTERS = 500

/**
 * Turns console output of libraries into log lines, from now on. If nobody listens for an error of a library, the
 * library prints the error with all of its properties, which may be secret. A log line has only the fields of
 * `toLoggableError`.
 */
function logConsole(log: Logger): void {
  const toLine = (values: readonly unknown[]) => ({
    printed: values.filter((value) => typeof value === 'string').map(toText),
    errors: values.filter((value) => value instanceof Error),
  })
  console.error = (...values: unknown[]) => log.error(toLine(values), 'a library printed an error')
  console.warn = (...values: unknown[]) => log.warn(toLine(values), 'a library printed a warning')
}

/** Redacted before it is cut, so that no half of a password is left. */
const toText = (text: string) => redactCredentials(text).slice(0, MOST_CHARACTERS)
