import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import { boundLines } from './bound-lines.ts'
import { redactCredentials, toLoggableError } from './loggable-error.ts'
import { openLogOutput } from './log-output.ts'

export type { Logger } from 'pino'

/** Fields that are nested deeper than this are left out. */
const MOST_DEPTH = 4

/**
 * Creates a logger. Logs are events with fields, one JSON line each, on standard output by default. Every error in the
 * fields, under any name and at any depth, is written as `toLoggableError` returns it. Credentials are removed from
 * texts. If lines with one message come too fast, only some are logged: their field `unreported` counts the others.
 */
export function createLogger(app: string, level: string, destination?: DestinationStream): Logger {
  const countUnreported = boundLines(() => performance.now())
  const options: LoggerOptions = {
    level,
    base: { app },
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: {
      logMethod([first, ...others], method, levelOfLine) {
        const message = typeof first === 'string' ? first : String(others[0])
        const isFatal = levelOfLine === pino.levels.values['fatal']
        const unreported = isFatal ? 0 : countUnreported(message)
        if (unreported === null) return
        // An error that is the only argument is put into a field. Otherwise pino would use its message as the message
        // of the line.
        const given: unknown = first
        const fields = given instanceof Error ? { err: given } : given
        const counted =
          unreported === 0
            ? [fields]
            : typeof fields === 'object'
              ? [{ ...fields, unreported }]
              : [{ unreported }, fields]
        const safe = [...counted, ...others].map((value) => toSafe(value, MOST_DEPTH))
        Reflect.apply(method, this, safe)
      },
    },
    // Covers errors in the fields that a child logger adds to all of its lines.
    serializers: { err: (error: unknown) => (error instanceof Error ? toLoggableError(error) : error) },
  }
  return pino(options, destination ?? openLogOutput(app))
}

function toSafe(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactCredentials(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return toLoggableError(value)
  if (depth === 0) return '(too deep)'
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`
  if ('toJSON' in value && typeof value.toJSON === 'function') return toSafe(value.toJSON(), depth - 1)
  if (Array.isArray(value)) return value.map((item) => toSafe(item, depth - 1))
  return toFields(value, depth)
}

/** Returns the own enumerable fields of an object, each made safe; an instance of a class loses its methods. */
function toFields(value: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, toSafe(field, depth - 1)]))
}
