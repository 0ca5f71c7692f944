import type { Logger } from '#libs/telemetry/logger.ts'
import { redactCredentials } from '#libs/telemetry/loggable-error.ts'

const MOST_CHARACTERS = 500

/**
 * Turns console output of libraries into log lines, from now on. Libraries print errors that nobody listens for, with
 * all properties of the error.
 */
export function logConsole(log: Logger): void {
  const toLine = (values: readonly unknown[]) => ({
    printed: values.filter((value) => typeof value === 'string').map(toText),
    errors: values.filter((value) => value instanceof Error),
  })
  console.error = (...values: unknown[]) => log.error(toLine(values), 'a library printed an error')
  console.warn = (...values: unknown[]) => log.warn(toLine(values), 'a library printed a warning')
}

/** Redacted before it is cut, so that no half of a password is left. */
const toText = (text: string) => redactCredentials(text).slice(0, MOST_CHARACTERS)
