export type PythonString = {
  /** Reads from `from` on; returns the index after the last quote, or the text's length. */
  readonly read: (text: string, from: number) => number
  readonly isOver: () => boolean
}

/**
 * Translates a Python string, from the end of its first quote on, to a JSON string that is emitted as it comes. Strings
 * in triple quotes are supported. An escape that Python does not know is text, as in Python. A line break may stand
 * without an escape, because models omit the escape.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `open`
 *   The first quote was read.
 *   - A second quote: `empty`.
 *   - Any other character: `text`.
 *
 * `empty`
 *   Two quotes were read.
 *   - A third quote: `text` in triple quotes.
 *   - Any other character: `over`. The string is empty, and the character follows it.
 *
 * `text`
 *   Characters are passed on.
 *   - The last quote, or the last of three in a row in triple quotes: `over`.
 *   - A backslash: `escape`.
 *
 * `escape`
 *   The beginning of an escape is buffered.
 *   - A character that continues the escape: still `escape`.
 *   - Any other character, or the escape's last one: `text`.
 *
 * `over`
 *   The string is complete.
 */
export function createPythonString(quote: string, emit: (json: string) => void): PythonString {
  const quoteUnit = quote.charCodeAt(0)
  let state: 'open' | 'empty' | 'text' | 'escape' | 'over' = 'open'
  let quotesToEnd = 1
  /** Consecutive quotes so far: `quotesToEnd` of them end the string. */
  let quotes = 0
  let escape = ''

  const emitText = (text: string) => emit(JSON.stringify(text).slice(1, -1))

  function end(): void {
    state = 'over'
    emit('"')
  }

  function readOpen(isQuote: boolean): number {
    state = isQuote ? 'empty' : 'text'
    return isQuote ? 1 : 0
  }

  /** After two quotes: a third quote opens a triple-quoted string, anything else follows an empty string. */
  function readEmpty(isQuote: boolean): number {
    if (!isQuote) {
      end()
      return 0
    }
    state = 'text'
    quotesToEnd = 3
    return 1
  }

  function readText(text: string, from: number): number {
    const unit = text.charCodeAt(from)
    if (unit === quoteUnit) {
      quotes += 1
      if (quotes === quotesToEnd) end()
      return 1
    }
    if (quotes > 0) emitText(quote.repeat(quotes))
    quotes = 0
    if (unit === BACKSLASH) {
      state = 'escape'
      escape = '\\'
      return 1
    }
    let at = from + 1
    while (at < text.length && !isMark(text.charCodeAt(at))) at += 1
    emitText(text.slice(from, at))
    return at - from
  }

  const isMark = (unit: number) => unit === quoteUnit || unit === BACKSLASH

  function readEscape(character: string): number {
    const next = escape + character
    if (ESCAPE_PART.test(next)) {
      escape = next
      return 1
    }
    const isWhole = ESCAPE.test(next)
    emitText(decodeEscape(isWhole ? next : escape))
    state = 'text'
    return isWhole ? 1 : 0
  }

  return {
    read(text, from) {
      let at = from
      while (at < text.length && state !== 'over') {
        if (state === 'open') at += readOpen(text.charCodeAt(at) === quoteUnit)
        else if (state === 'empty') at += readEmpty(text.charCodeAt(at) === quoteUnit)
        else if (state === 'text') at += readText(text, at)
        else at += readEscape(text.charAt(at))
      }
      return at
    },
    isOver: () => state === 'over',
  }
}

const BACKSLASH = 0x5c

const ESCAPE = /^\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{3}|[^xuU0-7])$/
/** The beginning of an escape; octal digits may already be a complete one. */
const ESCAPE_PART = /^\\(?:x[\da-fA-F]?|u[\da-fA-F]{0,3}|U[\da-fA-F]{0,7}|[0-7]{1,2})$/

const CHARACTERS: ReadonlyMap<string, string> = new Map([
  ['\n', ''],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])

/** Returns the character of an escape, or the escape itself if it is unknown. */
function decodeEscape(escape: string): string {
  const kind = escape.charAt(1)
  if (/[0-7]/.test(kind)) return String.fromCharCode(Number.parseInt(escape.slice(1), 8))
  if (!/[xuU]/.test(kind)) return CHARACTERS.get(kind) ?? escape
  const code = ESCAPE.test(escape) ? Number.parseInt(escape.slice(2), 16) : Infinity
  return code > MAX_CODE_POINT ? escape : String.fromCodePoint(code)
}

const MAX_CODE_POINT = 0x10ffff
