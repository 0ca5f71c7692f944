import type { ToolCallSink } from './tool-call-parser.ts'

export type HermesCall = {
  /** null: the call goes on. Text: the call is over, and this comes after it. */
  readonly push: (text: string) => string | null
  /** The output ended inside the call. */
  readonly finish: () => void
}

const CLOSE = '</tool_call>'

/**
 * The inside of one `<tool_call>` … `</tool_call>`: a JSON object with `name` and `arguments` in any order, read
 * by a scanner that follows depth and strings, so that the arguments' text goes out as it comes, exactly as
 * the model wrote it. The call starts when its name is known; arguments that came before it wait.
 *
 * Moves: *before-object* → *before-key* → *key* → *colon* → *before-value* → *string* | *nested* | *bare* →
 * *after-value* → *before-key* … → *after-object* → over. Something that does not fit ends a call that has
 * not started as `onNoCall` with its raw text; a started call then waits for its close tag as after-object,
 * because what went out cannot be taken back. A close tag inside the arguments, outside their strings, ends
 * the call too (*nested-close* until it is whole): models forget closing braces.
 */
export function createHermesCall(
  sink: Pick<ToolCallSink, 'onStart' | 'onArguments'> & { readonly onNoCall: (raw: string) => void },
): HermesCall {
  let state: State = 'before-object'
  let started = false
  /** Everything read while the call has not started: it may have to become text again. */
  let raw = ''
  let key = ''
  /** The JSON text of a key, or of a value that must be whole before it can be used. */
  let literal = ''
  let escaped = false
  let inString = false
  let depth = 0
  /** Whether the value that is being read is the arguments'. */
  let forwards = false
  let wroteArguments = false
  /** Arguments that came before the name. */
  let early = ''
  /** What has been read of a close tag. */
  let closing = ''

  /** Reads one character. False: it does not fit here and was not taken. */
  function read(character: string): boolean {
    if (state === 'key' || state === 'string') return readString(character)
    if (state === 'bare') return readBare(character)
    if (isBlank(character)) return true
    switch (character) {
      case '{':
        if (state === 'before-object') state = 'before-key'
        else return state === 'before-value' && beginNested(character)
        return true
      case '[':
        return state === 'before-value' && beginNested(character)
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
        return beginLiteral(character, 'bare')
    }
  }

  function beginLiteral(character: string, next: 'key' | 'string' | 'bare'): boolean {
    if (state !== 'before-value' && !(state === 'before-key' && next === 'key')) return false
    if (next === 'bare' && !/[\w-]/.test(character)) return false
    state = next
    literal = character
    return true
  }

  function beginNested(character: string): boolean {
    state = 'nested'
    depth = 1
    forwards = isArguments()
    if (forwards) emitArguments(character)
    return true
  }

  function readString(character: string): boolean {
    literal += character
    if (escaped) {
      escaped = false
    } else if (character === '\\') {
      escaped = true
    } else if (character === '"') {
      if (state !== 'key') return endLiteral()
      key = parseString(literal) ?? ''
      state = 'colon'
    }
    return true
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
    if (key === 'name' && !started) {
      const name = parseString(literal)
      if (name === null || name === '') return false
      start(name)
    } else if (isArguments()) {
      const text = toArguments(literal)
      if (text === null) return false
      if (text !== '') emitArguments(text)
    }
    return true
  }

  function start(name: string): void {
    started = true
    raw = ''
    sink.onStart(name)
    if (early !== '') sink.onArguments(early)
    early = ''
  }

  /** Takes as much as belongs to the nested value, and returns where that ends. */
  function readNested(text: string, from: number): number {
    let at = from
    let end = text.length
    while (at < text.length && state === 'nested') {
      const character = text[at++]
      if (inString) {
        if (escaped) escaped = false
        else if (character === '\\') escaped = true
        else if (character === '"') inString = false
      } else if (character === '"') {
        inString = true
      } else if (character === '{' || character === '[') {
        depth += 1
      } else if (character === '}' || character === ']') {
        depth -= 1
        if (depth > 0) continue
        state = 'after-value'
        end = at
      } else if (character === '<') {
        state = 'nested-close'
        closing = character
        end = at - 1
      }
    }
    if (forwards && end > from) emitArguments(text.slice(from, end))
    return at
  }

  const isArguments = () => key === 'arguments' && !wroteArguments

  function emitArguments(text: string): void {
    wroteArguments = true
    if (started) sink.onArguments(text)
    else early += text
  }

  /** Without a name it was no call; its brace is left to become text with the rest. */
  function endObject(): boolean {
    if (started) state = 'after-object'
    return started
  }

  /** Reads a character after the object, or in what may be a close tag within it. */
  function readClosing(character: string): 'taken' | 'closed' | 'misfit' {
    if (CLOSE[closing.length] === character) {
      closing += character
      return closing === CLOSE ? 'closed' : 'taken'
    }
    if (state === 'after-object') {
      // Surplus braces are as common as missing ones.
      return closing === '' && (character === '}' || isBlank(character)) ? 'taken' : 'misfit'
    }
    state = 'nested'
    if (forwards) emitArguments(closing)
    closing = ''
    return 'misfit'
  }

  /** Ends the call; `rest` is what comes after it. */
  function end(rest: string): string {
    if (!started) sink.onNoCall(raw)
    else if (!wroteArguments) emitArguments('{}')
    return rest
  }

  return {
    push(text) {
      let at = 0
      while (at < text.length) {
        if (state === 'nested') {
          at = readNested(text, at)
          continue
        }
        const character = text[at] ?? ''
        if (state === 'after-object' || state === 'nested-close') {
          const outcome = readClosing(character)
          if (outcome !== 'misfit') at += 1
          if (outcome === 'closed') {
            if (!started) raw += text.slice(0, at)
            return end(text.slice(at))
          }
          if (outcome === 'misfit' && state === 'after-object') return end(closing + text.slice(at))
        } else if (read(character)) {
          at += 1
        } else if (started) {
          state = 'after-object'
        } else {
          raw += text.slice(0, at)
          return end(text.slice(at))
        }
      }
      if (!started) raw += text
      return null
    },
    finish() {
      if (!started) sink.onNoCall(raw)
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
  | 'nested-close'
  | 'after-value'
  | 'after-object'

function isBlank(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t'
}

function parseString(literal: string): string | null {
  const value = parseJson(literal)
  return typeof value === 'string' ? value : null
}

/**
 * Arguments that are no object, as text: `''` for null (there are none), null for what is no JSON. Some models
 * write the object inside a string; callers expect the object.
 */
function toArguments(literal: string): string | null {
  const value = parseJson(literal)
  if (value === undefined) return null
  if (value === null) return ''
  if (typeof value !== 'string') return literal
  const inner = parseJson(value)
  return typeof inner === 'object' && inner !== null ? value : literal
}

/** undefined for text that is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
