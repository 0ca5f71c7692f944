import { createPythonLiteral, type PythonLiteral } from './python-literal.ts'
import type { CallReader, CallSink } from './tool-call-parser.ts'

export type PythonSyntax = { readonly type: 'python' }

/**
 * Reads one call in Python's syntax, with keywords and literals only: `get_weather(city="Paris", days=3)`. While the
 * arguments arrive, they are written as the parts of a JSON object. The call starts with its first value, because
 * everything before the value may still be text. A call without arguments starts at the comma or bracket after it, or
 * at the end of the output. Invalid text is text of the answer. It ends a call that has started; the call's arguments
 * are then incomplete JSON, so that a client cannot take them for complete arguments.
 *
 * If `offered` is given, text with a name that is not in `offered` is not a call: it may be an answer that is a list.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `name`
 *   The name of the tool.
 *   - `(` after a name: `before-key`.
 *
 * `before-key`
 *   After `(` or a comma.
 *   - A letter: `key`.
 *   - `)`: `over` if an argument came before, else `empty`.
 *
 * `key`
 *   The keyword of an argument.
 *   - `=`: `value`.
 *   - A blank: `equals`.
 *
 * `equals`
 *   - `=`: `value`.
 *
 * `value`
 *   The value of an argument, which `python-literal.ts` reads.
 *   - The literal is over: `after-value`.
 *
 * `after-value`
 *   - A comma: `before-key`.
 *   - `)`: `over`.
 *
 * `empty`
 *   A call without arguments is complete.
 *   - A comma or `]`: `over`. The character is not part of the call.
 *
 * `over`
 *   The call is complete.
 *
 * `no-call`
 *   The text is not a call. Each state but `over` leads here at a character that has no move above and is not a blank
 *   between parts.
 */
export function createPythonCall(sink: CallSink, offered?: ReadonlySet<string>): CallReader {
  let state: State = 'name'
  let name = ''
  let key = ''
  /** The value of the current argument; null before it begins. */
  let literal: PythonLiteral | null = null
  let started = false
  /** Text read since the last emitted value. It becomes text of the answer if invalid text follows. */
  let raw = ''
  /** JSON that is emitted before the next value. */
  let before = '{'

  function emit(json: string): void {
    if (!started) sink.onStart(name)
    started = true
    raw = ''
    sink.onArguments(before + json)
    before = ''
  }

  /** Reads one character outside of values. Returns false if it is not valid here. */
  function read(character: string): boolean {
    if (state === 'name') return readName(character)
    if (state === 'key' && LETTER.test(character)) return addToKey(character)
    if (isBlank(character)) {
      if (state === 'key') state = 'equals'
      return true
    }
    switch (character) {
      case ')':
        return (state === 'before-key' || state === 'after-value') && close()
      case ',':
        if (state !== 'after-value') return false
        state = 'before-key'
        return true
      case '=':
        return (state === 'key' || state === 'equals') && endKey()
      default:
        return state === 'before-key' && FIRST_LETTER.test(character) && beginKey(character)
    }
  }

  function readName(character: string): boolean {
    if (character === '(' && name !== '') {
      if (offered?.has(name) === false) return false
      state = 'before-key'
      return true
    }
    const fits = name === '' ? FIRST_LETTER.test(character) : LETTER.test(character)
    name += character
    return fits && name.length <= MAX_NAME
  }

  function beginKey(character: string): true {
    state = 'key'
    key = character
    return true
  }

  function addToKey(character: string): boolean {
    key += character
    return key.length <= MAX_KEY
  }

  function endKey(): true {
    state = 'value'
    literal = null
    before += `${started ? ', ' : ''}${JSON.stringify(key)}: `
    return true
  }

  /** A trailing comma is allowed. */
  function close(): true {
    state = started ? 'over' : 'empty'
    if (started) emit('}')
    return true
  }

  /** Reads the value and returns the index where it ends. */
  function readValue(value: PythonLiteral, text: string, from: number): number {
    const at = value.read(text, from)
    if (value.state() === 'over') state = 'after-value'
    else if (value.state() === 'no-literal') refuse(value.unread())
    return at
  }

  function refuse(unread: string): void {
    state = 'no-call'
    sink.onNoCall(raw + unread)
  }

  /** Reads a part of the text and returns the index where it ends. */
  function readPart(text: string, at: number): number {
    const character = text.charAt(at)
    if (state === 'value' && (literal !== null || !isBlank(character))) {
      literal ??= createPythonLiteral(emit)
      return readValue(literal, text, at)
    }
    if (state === 'empty' && (character === ',' || character === ']')) {
      state = 'over'
      emit('}')
      return at
    }
    if (!read(character)) {
      refuse('')
      return at
    }
    raw += character
    return at + 1
  }

  const isOver = () => state === 'over' || state === 'no-call'

  return {
    push(text) {
      let at = 0
      while (at < text.length && !isOver()) at = readPart(text, at)
      return isOver() ? text.slice(at) : null
    },
    finish() {
      if (state === 'empty') emit('}')
      else if (!started) refuse(literal?.unread() ?? '')
    },
  }
}

type State = 'name' | 'before-key' | 'key' | 'equals' | 'value' | 'after-value' | 'empty' | 'over' | 'no-call'

/** Names of tools may contain dots and hyphens, unlike names in Python. */
const LETTER = /[\p{L}\p{N}_.-]/u
const FIRST_LETTER = /[\p{L}_]/u
const MAX_NAME = 256
const MAX_KEY = 512

const isBlank = (character: string) => ' \t\r\n'.includes(character)
