import { createPythonString, type PythonString } from './python-string.ts'

export type PythonLiteral = {
  /** Reads from `from` on; returns the index of the first character after the literal, or the text's length. */
  readonly read: (text: string, from: number) => number
  /**
   * `no-literal`: the character at the index that `read` returned, or the `unread` text before it, is not valid in a
   * literal.
   */
  readonly state: () => 'open' | 'over' | 'no-literal'
  /** An unfinished number or word, which was read but not emitted. */
  readonly unread: () => string
}

/**
 * Translates a Python literal to JSON, each part as soon as it is certain: strings as they come, numbers and words when
 * they are complete. Tuples, and any other value in parentheses, become lists. JSON's own words are accepted too. The
 * first character of the literal is not a blank.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `value`
 *   A value follows: the literal itself, a list's item, or the value of a key.
 *   - A quote: `string`.
 *   - A letter, a digit or another character of a word: `word`.
 *   - `[` or `(`: `value`, for the first item.
 *   - `{`: `key`.
 *   - The closing bracket of the list: `after`, or `over` if no other bracket is open.
 *
 * `key`
 *   A key follows, after `{` or a comma.
 *   - A quote: `string`.
 *   - A character of a word: `word`.
 *   - `}`: `after`, or `over` if no other bracket is open.
 *
 * `string`
 *   Within a string, which `python-string.ts` reads.
 *   - Its last quote: `colon` if it is a key, else `after`, or `over` outside of all brackets.
 *
 * `word`
 *   Within a number, or a word such as `None`.
 *   - Any other character: the word is complete. The next state is as after a string.
 *   - The word is unknown, or longer than 4,300 characters: `no-literal`.
 *
 * `colon`
 *   A key is complete.
 *   - `:`: `value`.
 *
 * `after`
 *   A value within brackets is complete.
 *   - A comma: `key` in braces, else `value`.
 *   - The closing bracket: `after`, or `over` if no other bracket is open.
 *
 * `over`
 *   The literal is complete.
 *
 * `no-literal`
 *   A character came that has no move above. Blanks between the parts of a literal are always allowed.
 */
export function createPythonLiteral(emit: (json: string) => void): PythonLiteral {
  let state: 'value' | 'key' | 'string' | 'word' | 'colon' | 'after' | 'over' | 'no-literal' = 'value'
  /** The closing characters of the open brackets. */
  const closers: string[] = []
  let isKey = false
  let string: PythonString | null = null
  let word = ''
  /** A comma that is emitted with the next value, because Python allows a comma after the last value. */
  let comma = ''

  function emitValue(json: string): void {
    emit(comma + json)
    comma = ''
  }

  /** Reads one character outside of strings and words. Returns false if it is not valid here. */
  function read(character: string): boolean {
    if (BLANKS.includes(character)) return true
    if (character === closers.at(-1)) return close(character)
    if (character === ',') return next()
    if (character === ':') return colon()
    if (state !== 'value' && state !== 'key') return false
    isKey = state === 'key'
    if (character === '"' || character === "'") return beginString(character)
    if (WORD.test(character)) return beginWord(character)
    const brackets = isKey ? undefined : BRACKETS.get(character)
    if (brackets === undefined) return false
    emitValue(brackets.json)
    closers.push(brackets.closer)
    state = brackets.closer === '}' ? 'key' : 'value'
    return true
  }

  function close(closer: string): boolean {
    if (state === 'colon' || (state === 'value' && closer === '}')) return false
    closers.pop()
    comma = ''
    emit(closer === '}' ? '}' : ']')
    endValue()
    return true
  }

  function next(): boolean {
    if (state !== 'after') return false
    comma = ', '
    state = closers.at(-1) === '}' ? 'key' : 'value'
    return true
  }

  function colon(): boolean {
    if (state !== 'colon') return false
    emit(': ')
    state = 'value'
    return true
  }

  function beginString(quote: string): true {
    state = 'string'
    emitValue('"')
    string = createPythonString(quote, emit)
    return true
  }

  function beginWord(character: string): true {
    state = 'word'
    word = character
    return true
  }

  /** Called at the first character after a word. */
  function endWord(): void {
    const json = toJson(word)
    if (json === null) {
      state = 'no-literal'
      return
    }
    emitValue(isKey ? JSON.stringify(json) : json)
    word = ''
    endScalar()
  }

  function endScalar(): void {
    if (isKey) state = 'colon'
    else endValue()
  }

  function endValue(): void {
    state = closers.length === 0 ? 'over' : 'after'
  }

  const isOpen = () => state !== 'over' && state !== 'no-literal'

  /** Reads a part of the text and returns the index where it ends. */
  function readPart(text: string, at: number): number {
    if (string !== null) {
      const end = string.read(text, at)
      if (string.isOver()) {
        string = null
        endScalar()
      }
      return end
    }
    const character = text.charAt(at)
    if (state === 'word' && !WORD.test(character)) {
      endWord()
      return at
    }
    if (state === 'word' && word.length < MAX_WORD) {
      word += character
      return at + 1
    }
    if (state !== 'word' && read(character)) return at + 1
    state = 'no-literal'
    return at
  }

  return {
    read(text, from) {
      let at = from
      while (at < text.length && isOpen()) at = readPart(text, at)
      return at
    },
    state: () => (state === 'over' || state === 'no-literal' ? state : 'open'),
    unread: () => word,
  }
}

const BLANKS = ' \t\r\n'
const WORD = /[\w.+-]/
/**
 * The most characters of a number or a word, which is Python's own limit for the digits of an integer. A limit is
 * needed, because words are buffered whole, and long hexadecimal numbers are converted slowly.
 */
const MAX_WORD = 4_300

const BRACKETS: ReadonlyMap<string, { readonly json: string; readonly closer: string }> = new Map([
  ['[', { json: '[', closer: ']' }],
  ['(', { json: '[', closer: ')' }],
  ['{', { json: '{', closer: '}' }],
])

const WORDS: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
])

/** Returns null for text that is neither a number nor a known word. A number keeps all its digits. */
function toJson(word: string): string | null {
  const known = WORDS.get(word)
  if (known !== undefined) return known
  const [, sign = '', digits = ''] = /^([+-]?)(.*)$/.exec(word) ?? []
  const number = toNumber(digits.replaceAll(/(?<=[\da-fA-FxXoO])_(?=[\da-fA-F])/g, ''))
  return number === null ? null : sign.replace('+', '') + number
}

function toNumber(digits: string): string | null {
  if (/^0(?:[xX][\da-fA-F]+|[oO][0-7]+|[bB][01]+)$/.test(digits)) return String(BigInt(digits))
  const [, whole, point, fraction = '', exponent = ''] =
    /^(0+|[1-9]\d*)?(\.(\d*))?([eE][+-]?\d+)?$/.exec(digits) ?? []
  if (whole === undefined && fraction === '') return null
  const integer = whole === undefined || whole.startsWith('0') ? '0' : whole
  return integer + (point === undefined ? '' : `.${fraction === '' ? '0' : fraction}`) + exponent
}
