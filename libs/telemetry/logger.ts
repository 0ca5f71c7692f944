import { pino, type Logger } from 'pino'

export type { Logger } from 'pino'

/** Logs are events with fields, one JSON line each, on standard output. */
export function createLogger(app: string, level: string): Logger {
  return pino({ level, base: { app }, timestamp: pino.stdTimeFunctions.isoTime })
}
