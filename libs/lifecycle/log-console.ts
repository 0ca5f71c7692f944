import type { Logger } from '#libs/telemetry/logger.ts'
import { redactCredentials } from '#libs/telemetry/loggable-error.ts'

const MOST_CHARACTERS = 500

/**
 * Libraries print on the console what nobody listens for, errors with all of their properties too. From now on each of
 * their lines is a line of the log.
 */
export function logConsole(log: Logger): void {
  const toLine = (values: readonly unknown[]) => ({
    printed: values.filter((value) => typeof value === 'string').map(toText),
    errors: values.filter((value) => value instanceof Error),
  })
  console.error = (...values: unknown[]) => log.error(toLine(values), 'a library printed an error')
  console.warn = (...values: unknown[]) => log.warn(toLine(values), 'a library printed a warning')
}

/** Before it is cut, so that no half of a password is left. */
const toText = (text: string) => redactCredentials(text).slice(0, MOST_CHARACTERS)
