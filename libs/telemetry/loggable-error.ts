import { z } from 'zod'

/** The fields of an error in a log line. */
export type LoggableError = {
  readonly type: string
  readonly message: string
  readonly code?: string | number
  readonly syscall?: string
  readonly constraint?: string
  readonly stack?: string
  readonly cause?: LoggableError
  readonly errors?: readonly LoggableError[]
}

const MOST_MESSAGE_CHARACTERS = 500
const MOST_WORD_CHARACTERS = 100
const MOST_FRAMES = 12
const MOST_FRAME_CHARACTERS = 300
const MOST_CAUSES = 4
const MOST_ERRORS = 4
const MOST_ISSUES = 5
const MOST_PATH = 8

const OMITTED = '(omitted: it may quote a text of the request)'

/**
 * Converts an error to the fields that a log may contain. ioredis attaches the whole command to its errors, with
 * passwords and published data; pg attaches the row and the parameters; other libraries attach the request. Only type,
 * message, code, syscall, constraint and stack are kept, each shortened to a largest length. A limited number of the
 * error's causes, and of the errors in an AggregateError, is kept in the same form.
 *
 * A message may contain credentials or quote an input. Credentials are redacted. These messages are left out or
 * replaced:
 * - The message of a SyntaxError is left out if it may quote the input, as messages of `JSON.parse` do.
 * - For a ZodError, only the codes and paths of its issues are kept.
 * - The message of an error that is marked with `quotesRequest` is left out.
 */
export function toLoggableError(error: unknown): LoggableError {
  return describe(error, MOST_CAUSES)
}

/**
 * Returns the text without credentials: passwords in URLs, bearer tokens, keys, and the arguments of a Redis command.
 */
export function redactCredentials(text: string): string {
  return CREDENTIALS.reduce(
    (redacted, [pattern, replacement]) => redacted.replace(pattern, replacement),
    text,
  )
}

/** Formats an error for people, on standard error: the message and the stack. */
export function toPrintedError(error: unknown): string {
  const { type, message, stack } = toLoggableError(error)
  return `${type}: ${message}${stack === undefined ? '' : `\n${stack}`}`
}

const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  // Matches up to the last @ before a space, because a password may contain an @ that is not encoded.
  [/\b([a-z][a-z0-9+.-]*:\/\/)\S*@/gi, '$1***@'],
  [/\b(Bearer|Basic) [^\s"']+/gi, '$1 ***'],
  [/\b(mr_(?:live|manage)_)\w+/g, '$1***'],
  // A server that does not know a command, such as a renamed one, repeats its arguments in the error.
  [/with args beginning with: .*/gs, 'with args ***'],
]

function describe(error: unknown, causes: number): LoggableError {
  // Neither text nor fields of a value that is not an error are kept, because the value may be an answer or a request.
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error' }
  const stack = toFrames(error)
  return {
    type: cut(error.constructor.name === '' ? error.name : error.constructor.name, MOST_WORD_CHARACTERS),
    message: cut(toMessage(error), MOST_MESSAGE_CHARACTERS),
    ...toCode(error),
    ...('syscall' in error ? { syscall: toWord(error.syscall) } : {}),
    ...('constraint' in error ? { constraint: toWord(error.constraint) } : {}),
    ...(stack === '' ? {} : { stack }),
    ...(error.cause === undefined || causes === 0 ? {} : { cause: describe(error.cause, causes - 1) }),
    ...(error instanceof AggregateError && causes > 0
      ? { errors: error.errors.slice(0, MOST_ERRORS).map((one: unknown) => describe(one, 0)) }
      : {}),
  }
}

function toMessage(error: Error): string {
  if (error instanceof z.ZodError) return toIssues(error)
  const { message } = error
  if (error instanceof SyntaxError) return QUOTES_NOTHING.test(message) ? message : OMITTED
  if ('quotesRequest' in error && error.quotesRequest === true) return OMITTED
  return redactCredentials(withoutValues(error, message))
}

/** Removes quoted values: Node quotes a wrong argument, and PostgreSQL quotes a value of the wrong form (class 22). */
function withoutValues(error: Error, message: string): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('ERR_INVALID_ARG')) return message.replace(/ Received .*/s, '')
  return 'severity' in error && code.startsWith('22') ? message.replace(/".*"/gs, '"***"') : message
}

const QUOTES_NOTHING =
  /^(?:Unexpected end of JSON input|(?:Expected|Unterminated|Bad) [^"]* in JSON at position \d+)/

function toIssues({ issues }: z.ZodError): string {
  const shown = issues.slice(0, MOST_ISSUES).map(({ code, path }) => `${code} at ${toPath(path)}`)
  return [...shown, ...(issues.length > MOST_ISSUES ? [`${issues.length} in all`] : [])].join('; ')
}

/** Keeps the names of our fields. Keys that are not words may be a caller's text. */
function toPath(path: readonly PropertyKey[]): string {
  const names = path
    .slice(0, MOST_PATH)
    .map((key) => (typeof key === 'number' || /^\w{1,40}$/.test(String(key)) ? String(key) : '*'))
  return names.length === 0 ? 'the whole' : names.join('.')
}

function toCode(error: Error): { code?: string | number } {
  if (!('code' in error)) return {}
  return { code: typeof error.code === 'number' ? error.code : toWord(error.code) }
}

const toWord = (value: unknown) =>
  typeof value === 'string' ? cut(value, MOST_WORD_CHARACTERS) : typeof value

/** Returns the stack's lines below the message, because the stack repeats the message. */
function toFrames({ stack = '', message }: Error): string {
  const start = message === '' ? 0 : stack.indexOf(message) + message.length
  return stack
    .slice(start)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, MOST_FRAMES)
    .map((line) => cut(line, MOST_FRAME_CHARACTERS))
    .join('\n')
}

/**
 * Matches a line of a stack that is a frame: it ends with a place in a file. If the message of an error was replaced
 * after the error was made, the stack still begins with the earlier message, which may have several lines. The lines of
 * this message must not count as frames.
 */
const FRAME = /^ {4}at .*(?::\d+:\d+\)?|\(<anonymous>\)|\(native\))$/

const cut = (text: string, most: number) => (text.length <= most ? text : `${text.slice(0, most)}…`)
