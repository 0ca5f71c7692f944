import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import { findMarker, markerAt, toMarkers } from './markers.ts'
import { declaredTypes, isAlwaysText, toJsonText, type DeclaredTypes } from './parameter-values.ts'
import type { CallReader, CallSink } from './tool-call-parser.ts'

/** One tag per parameter around values without quotes. */
export type ParameterSyntax = {
  readonly type: 'parameters'
  /** The text that ends the name; null: the next tag ends it. */
  readonly nameEnd: string | null
  readonly keyOpen: string
  readonly keyEnd: string
  /** The text between key and value, with blanks around it; null: the value follows the key at once. */
  readonly valueOpen: string | null
  readonly valueEnd: string
  readonly close: string
  /** True if the template writes values on lines of their own: one line break at each end is markup. */
  readonly ownLines: boolean
}

/**
 * Reads one call that is written as tags, with a name and parameters. The parameters become a JSON object as they come:
 * values declared as strings are emitted at once, other values when they are complete. Nothing is unescaped, because
 * models write no entities.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `name`
 *   - The end of the name: `between`. The call starts. In a format without a text that ends the name, the next tag ends
 *     it.
 *   - A character that no name contains, or an empty name: the text is not a call.
 *
 * `between`
 *   Blanks are dropped.
 *   - The open tag of a key: `key`.
 *   - The close tag of the call, or other text: the call is over. Other text is not part of the call.
 *
 * `key`
 *   - The end of the key: `before-value`.
 *   - More than 512 characters: the call is over, and the characters are not part of it.
 *
 * `before-value`
 *   - The open tag of the value: `value`. In a format without this tag, the value begins at once.
 *   - Other text: `between`. The key is dropped.
 *
 * `value`
 *   - The close tag of the value: `between`.
 *   - The open tag of a key, or the close tag of the call: `between`, which reads this tag. The close tag of the value
 *     is missing, because models omit close tags.
 */
export function createParameterCall(
  sink: CallSink,
  { syntax, tools }: { syntax: ParameterSyntax; tools: readonly ToolDefinition[] },
): CallReader {
  const { keyOpen, keyEnd, valueOpen, valueEnd, close, ownLines } = syntax
  const nameEnds = toMarkers(syntax.nameEnd === null ? [keyOpen, close] : [syntax.nameEnd])
  const tags = toMarkers([keyOpen, close])
  const keyEnds = toMarkers([keyEnd])
  const valueEnds = toMarkers([valueEnd, keyOpen, close])
  let state: 'name' | 'between' | 'key' | 'before-value' | 'value' = 'name'
  /** An unfinished name or key, or text that may be the beginning of a marker. */
  let buffered = ''
  let tool: ToolDefinition | undefined
  let key = ''
  let parameters = 0
  let types: DeclaredTypes = null
  /** The parts of a value that must be complete before it can be emitted. */
  let parts: string[] = []
  let streams = false
  let atValueStart = false
  /** A line break that is markup if the value ends here. */
  let lineBreak = ''

  function pushName(text: string): string | null {
    const at = findMarker(text, nameEnds)
    const written = at === -1 ? text : text.slice(0, at)
    const fits = NAME.exec(written)?.[0].length ?? 0
    const marker = at === -1 ? null : markerAt(text, at, nameEnds)
    const name = unquoted(written)
    if (fits < written.length || (marker !== null && name === '')) {
      const end = Math.min(fits, written.length)
      sink.onNoCall(text.slice(0, end))
      return text.slice(end)
    }
    if (marker === null) return buffer(text)
    sink.onStart(name)
    tool = tools.find((candidate) => candidate.name === name)
    state = 'between'
    return pushBetween(text.slice(marker === syntax.nameEnd ? at + marker.length : at))
  }

  function pushBetween(given: string): string | null {
    const text = given.trimStart()
    if (text === '') return null
    const marker = markerAt(text, 0, tags)
    if (marker === close) return end(text.slice(close.length))
    if (marker === keyOpen) {
      state = 'key'
      return pushKey(text.slice(keyOpen.length))
    }
    return findMarker(text, tags) === 0 ? buffer(text) : end(text)
  }

  function pushKey(text: string): string | null {
    const at = findMarker(text, keyEnds)
    if ((at === -1 ? text.length : at) > MAX_KEY) return end(text)
    if (at === -1 || markerAt(text, at, keyEnds) === null) return buffer(text)
    const written = text.slice(0, at)
    key = unquoted(written)
    types = attributeTypes(written) ?? declaredTypes(tool, key)
    state = 'before-value'
    return pushBefore(text.slice(at + keyEnd.length))
  }

  function pushBefore(text: string): string | null {
    if (valueOpen === null) return beginValue(text)
    const rest = text.trimStart()
    if (rest.startsWith(valueOpen)) return beginValue(rest.slice(valueOpen.length))
    if (valueOpen.startsWith(rest)) return buffer(rest)
    state = 'between'
    return pushBetween(rest)
  }

  function beginValue(text: string): string | null {
    state = 'value'
    streams = isAlwaysText(types)
    atValueStart = true
    parts = []
    sink.onArguments(`${parameters === 0 ? '{' : ', '}${JSON.stringify(key)}: ${streams ? '"' : ''}`)
    parameters += 1
    return pushValue(text)
  }

  function pushValue(text: string): string | null {
    const at = findMarker(text, valueEnds)
    addValue(at === -1 ? text : text.slice(0, at))
    if (at === -1) return null
    const marker = markerAt(text, at, valueEnds)
    if (marker === null) return buffer(text.slice(at))
    endValue()
    state = 'between'
    return pushBetween(text.slice(marker === valueEnd ? at + valueEnd.length : at))
  }

  function addValue(given: string): void {
    if (given === '') return
    const begin = ownLines && atValueStart && given.startsWith('\n') ? 1 : 0
    atValueStart = false
    const whole = lineBreak + given.slice(begin)
    lineBreak = ownLines && whole.endsWith('\n') ? '\n' : ''
    const text = lineBreak === '' ? whole : whole.slice(0, -1)
    if (text === '') return
    if (streams) sink.onArguments(inString(text))
    else parts.push(text)
  }

  function endValue(): void {
    lineBreak = ''
    sink.onArguments(streams ? '"' : toJsonText(parts.join(''), types))
    parts = []
  }

  function end(rest: string): string {
    sink.onArguments(parameters === 0 ? '{}' : '}')
    return rest
  }

  function buffer(text: string): null {
    buffered = text
    return null
  }

  return {
    push(added) {
      const text = buffered + added
      buffered = ''
      switch (state) {
        case 'name':
          return pushName(text)
        case 'between':
          return pushBetween(text)
        case 'key':
          return pushKey(text)
        case 'before-value':
          return pushBefore(text)
        case 'value':
          return pushValue(text)
      }
    },
    /** The arguments end where the output does. */
    finish() {
      if (state === 'name') sink.onNoCall(buffered)
      else if (parts.length > 0) sink.onArguments(parts.join(''))
      buffered = ''
    },
  }
}

/** A name may be in quotes. It has no blanks, JSON or markup, and is no longer than a request allows. */
const NAME = /^\s{0,64}"?[^\s{}"'<>]{0,256}"?\s{0,64}/

const MAX_KEY = 512

/** Returns the text within quotes, or all of it without quotes. Attributes may follow the quotes. */
function unquoted(written: string): string {
  const text = written.trim()
  return /^"([^"]*)/.exec(text)?.[1] ?? text
}

/** DeepSeek V3.2 writes an attribute with each key, which says whether the value is a string. */
function attributeTypes(written: string): DeclaredTypes {
  const flag = /\sstring="(true|false)"/.exec(written)?.[1]
  return flag === undefined ? null : flag === 'true' ? STRING : OTHER
}

const STRING: DeclaredTypes = new Set(['string'])
const OTHER: DeclaredTypes = new Set(['number', 'integer', 'boolean', 'object', 'array', 'null'])

/** Returns the text escaped for the inside of a JSON string. */
const inString = (text: string): string => JSON.stringify(text).slice(1, -1)
