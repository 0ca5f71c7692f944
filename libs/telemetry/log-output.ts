import { writeSync } from 'node:fs'
import { pino, type DestinationStream } from 'pino'

/** The part of the log that is kept in memory while it cannot be written. Later lines are lost. */
const MOST_KEPT_BYTES = 1_048_576

let failure: string | null = null

/** Returns why this process's log cannot be written at the moment; null: it can. */
export const whyLogFails = (): string | null => failure

/**
 * Opens standard output for the lines of a log. If nothing can be written there, because its reader is gone or its disk
 * is full, the process goes on without a log: one line on standard error says so, `/readyz` repeats it, and the log
 * continues when the disk has room again.
 */
export function openLogOutput(app: string): DestinationStream {
  const output = pino.destination({ fd: process.stdout.fd, sync: true, maxLength: MOST_KEPT_BYTES })
  // pino's own listener would end the log at a broken pipe without a word, and the process at any other error.
  output.removeAllListeners('error')
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (failure === null)
      report(`${app}: the log cannot be written: ${error.code}; the process goes on without it`)
    failure = error.code ?? 'unknown error'
  })
  output.on('write', () => (failure = null))
  return output
}

function report(sentence: string): void {
  try {
    writeSync(process.stderr.fd, `${sentence}\n`)
  } catch {
    // Standard error has often the same reader, or the same disk. /readyz still has the reason.
  }
}
