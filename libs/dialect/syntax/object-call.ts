import { createJsonScanner, type JsonScanner } from './json-scanner.ts'
import type { CallReader, CallSink } from './tool-call-parser.ts'

export type ObjectSyntax = {
  readonly type: 'object'
  /** The text after the object; null: the call ends with the object's last brace. */
  readonly close: string | null
  /**
   * True if calls may come without an opener before them. A JSON object in the output may then be an answer and not a
   * call. So a call starts only when its arguments come, and an object with a name but without arguments is not a call.
   */
  readonly strict: boolean
}

/**
 * Reads one call that is a JSON object with `name` (or `tool_name`) and `arguments` (or `parameters`) in any order. The
 * text of the arguments is emitted as it comes, exactly as the model wrote it. Arguments before the name are buffered
 * until the name is known.
 *
 * If `offered` is given, an object with a name that is not in `offered` is not a call: it may be an answer in JSON.
 *
 * Between an opener and its close tag, models also write several objects, a list of objects, or a Markdown fence around
 * objects. Each object is a call; brackets, commas and fences between objects are markup.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `before-object`
 *   Only blanks so far. If the format has a close tag, a bracket or a fence may stand here too.
 *   - `{`: `before-key`.
 *
 * `before-key`
 *   After `{` or a comma.
 *   - A quote: `key`.
 *   - A comma: still `before-key`.
 *   - `}`, if the call has started: `after-object`.
 *
 * `key`
 *   - The last quote: `colon`.
 *
 * `colon`
 *   - `:`: `before-value`.
 *
 * `before-value`
 *   - A quote: `string`.
 *   - `{` or `[`: `nested`.
 *   - A letter, a digit or a hyphen: `bare`.
 *
 * `string`
 *   - The last quote: `after-value`.
 *
 * `bare`
 *   A number, `true`, `false` or `null`.
 *   - A character that cannot continue it: `after-value`.
 *
 * `nested`
 *   An object or a list.
 *   - Its last bracket: `after-value`.
 *   - The close tag outside of strings: `closed`, because models omit closing braces.
 *
 * `closed`
 *   The call is over. If it has not started, `onNoCall` receives its raw text.
 *
 * `after-value`
 *   - A comma: `before-key`.
 *   - `}`, if the call has started: `after-object`.
 *
 * `after-object`
 *   Surplus braces and the markup between objects are read.
 *   - `{`: the next call, `before-object`.
 *   - The close tag, or other text: the call is over. If the format has no close tag, it is over at once.
 *
 * A call has started when `onStart` has emitted its name. Until then the object may still be text.
 *
 * One more move belongs to all states above `after-object`. It is made in three cases: a character comes that has no
 * move above; a key, a name or arguments are not accepted; or `}` comes and the call has not started.
 * - If the call has not started, it ends, and `onNoCall` receives its raw text.
 * - If the call has started, its events cannot be taken back: `after-object`.
 */
export function createObjectCall(
  sink: CallSink,
  { close, strict }: ObjectSyntax,
  offered?: ReadonlySet<string>,
): CallReader {
  const stopUnit = close?.charCodeAt(0) ?? -1
  let state: State = 'before-object'
  let started = false
  /** Everything read before the call starts: it may have to become text again. */
  let raw = ''
  /** Text that may be the beginning of the close tag. */
  let buffered = ''
  /** Brackets, commas and a fence before the object. */
  let fence = ''
  /** Brackets, commas and a fence behind the object. They are markup if the close tag or another object follows. */
  let skipped = ''
  let name: string | null = null
  let key = ''
  /** The JSON text of a key, or of a value that must be complete before it can be used. */
  let literal = ''
  let escaped = false
  let nested: JsonScanner = createJsonScanner()
  /** True if the nested value is the arguments. */
  let forwards = false
  let wroteArguments = false
  /** Arguments that came before the name. */
  let early = ''

  /** Reads one character. Returns false, without consuming the character, if it is not valid here. */
  function read(character: string): boolean {
    if (state === 'key' || state === 'string') return readString(character)
    if (state === 'bare') return readBare(character)
    if (isBlank(character)) return true
    switch (character) {
      case '{':
        if (state === 'before-object') state = 'before-key'
        else return false
        return true
      case '}':
        return (state === 'before-key' || state === 'after-value') && endObject()
      case ',':
        if (state === 'after-value') state = 'before-key'
        return state === 'before-key'
      case ':':
        if (state === 'colon') state = 'before-value'
        else return false
        return true
      case '"':
        return beginLiteral(character, state === 'before-key' ? 'key' : 'string')
      default:
        if (state === 'before-object') return readFence(character)
        return /[\w-]/.test(character) && beginLiteral(character, 'bare')
    }
  }

  /** Reads brackets or a fence, which may stand before an object within tags. */
  function readFence(character: string): boolean {
    if (close === null || fence.length === MAX_FENCE) return false
    fence += character
    return FENCE.test(fence)
  }

  /** Prepares for the next call of the same block. */
  function restart(): void {
    state = 'before-object'
    started = false
    fence = ''
    skipped = ''
    raw = ''
    name = null
    key = ''
    literal = ''
    wroteArguments = false
    early = ''
  }

  function beginLiteral(character: string, next: 'key' | 'string' | 'bare'): boolean {
    if (state !== 'before-value' && !(state === 'before-key' && next === 'key')) return false
    state = next
    literal = character
    return true
  }

  function readString(character: string): boolean {
    literal += character
    if (escaped) {
      escaped = false
    } else if (character === '\\') {
      escaped = true
    } else if (character === '"') {
      return state === 'key' ? endKey() : endLiteral()
    }
    return true
  }

  function endKey(): boolean {
    key = parseString(literal) ?? ''
    state = 'colon'
    return !strict || ['name', 'type', 'id'].includes(key) || isArguments()
  }

  function readBare(character: string): boolean {
    if (/[\w.+-]/.test(character)) {
      literal += character
      return true
    }
    return endLiteral() && read(character)
  }

  function endLiteral(): boolean {
    state = 'after-value'
    if ((key === 'name' || key === 'tool_name') && name === null) {
      name = parseString(literal)
      if (name === null || name === '' || offered?.has(name) === false) return false
      if (!strict || early !== '') start(name)
    } else if (isArguments()) {
      const text = toArguments(literal)
      if (text === null) return false
      if (text !== '') emitArguments(text)
      else if (name !== null) start(name)
    }
    return true
  }

  function start(called: string): void {
    if (started) return
    started = true
    raw = ''
    sink.onStart(called)
    if (early !== '') sink.onArguments(early)
    early = ''
  }

  const isArguments = () => (key === 'arguments' || key === 'parameters') && !wroteArguments

  function emitArguments(text: string): void {
    wroteArguments = true
    if (name !== null) start(name)
    if (started) sink.onArguments(text)
    else early += text
  }

  function beginNested(): void {
    state = 'nested'
    nested = createJsonScanner()
    forwards = isArguments()
  }

  /** Reads the nested value, or the close tag in it, and returns the index where it ends. */
  function readNested(text: string, from: number): number {
    const at = nested.scan(text, from, stopUnit)
    if (forwards && at > from) emitArguments(text.slice(from, at))
    if (nested.isOver()) state = 'after-value'
    if (nested.isOver() || at === text.length || close === null) return at
    if (text.startsWith(close, at)) {
      state = 'closed'
      return at + close.length
    }
    if (close.startsWith(text.slice(at))) {
      buffered = text.slice(at)
      return text.length
    }
    // There is no close tag here, so the character is an invalid part of the value.
    if (forwards) emitArguments(text.charAt(at))
    return at + 1
  }

  /** An object without a name is not a call; its brace becomes text with the rest. */
  function endObject(): boolean {
    if (started) state = 'after-object'
    return started
  }

  const isClosed = () => state === 'closed'

  /** Ends the call and returns the text after it. */
  function end(rest: string): string {
    if (!started) sink.onNoCall(raw)
    else if (!wroteArguments) emitArguments('{}')
    return rest
  }

  /** Reads the text after the object up to the close tag, if the syntax has one. */
  function readEnd(text: string, from: number): string | null {
    if (close === null) return end(text.slice(from))
    let at = from
    while (at < text.length && BETWEEN.includes(text.charAt(at))) at += 1
    const read = skipped + text.slice(from, at)
    skipped = read.replace(/^[\s}]+/, '')
    if (at === text.length) return null
    if (text[at] === '{') {
      if (!wroteArguments) emitArguments('{}')
      restart()
      return next(text, at)
    }
    if (text.startsWith(close, at)) return end(text.slice(at + close.length))
    if (!close.startsWith(text.slice(at))) return end(skipped + text.slice(at))
    buffered = text.slice(at)
    return null
  }

  /** Reads from an index on, and returns the same as `push`. */
  function next(text: string, from: number): string | null {
    let at = from
    while (at < text.length) {
      if (state === 'after-object') return readEnd(text, at)
      if (state === 'before-value' && (text[at] === '{' || text[at] === '[')) beginNested()
      if (state === 'nested') {
        at = readNested(text, at)
        if (!isClosed()) continue
        if (!started) raw += text.slice(from, at)
        return end(text.slice(at))
      } else if (read(text[at] ?? '')) {
        at += 1
      } else if (started) {
        state = 'after-object'
      } else {
        raw += text.slice(from, at)
        return end(text.slice(at))
      }
    }
    if (state === 'after-object' && close === null) return end('')
    if (!started) raw += text.slice(from, text.length - buffered.length)
    return null
  }

  return {
    push(added) {
      const text = buffered + added
      buffered = ''
      return next(text, 0)
    },
    finish() {
      if (!started) sink.onNoCall(raw + buffered)
      else if (state === 'string' && isArguments()) emitArguments(literal)
    },
  }
}

type State =
  | 'before-object'
  | 'before-key'
  | 'key'
  | 'colon'
  | 'before-value'
  | 'string'
  | 'bare'
  | 'nested'
  | 'closed'
  | 'after-value'
  | 'after-object'

/**
 * Characters between the objects of a block and before its close tag. A surplus brace is one of them, because models
 * write surplus braces as often as they omit braces.
 */
const BETWEEN = '} \n\r\t],`'

/** The text that may stand before the first object of a block. */
const FENCE = /^\[?(?:`{1,3}|```(?:j|js|jso|json)\[?)?$/
const MAX_FENCE = 9

function isBlank(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t'
}

function parseString(literal: string): string | null {
  const value = parseJson(literal)
  return typeof value === 'string' ? value : null
}

/**
 * Returns the text of a call's arguments that the model wrote as a string, a number or a word. The word `null` means no
 * arguments and gives `''`. Some models write a string that contains a JSON object. For such a string, returns the text
 * of the object, because callers expect an object. Returns null if `literal` is invalid JSON.
 */
function toArguments(literal: string): string | null {
  const value = parseJson(literal)
  if (value === undefined) return null
  if (value === null) return ''
  if (typeof value !== 'string') return literal
  const inner = parseJson(value)
  return typeof inner === 'object' && inner !== null ? value : literal
}

/** Returns undefined for invalid JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
