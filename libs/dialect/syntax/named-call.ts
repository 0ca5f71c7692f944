import { findMarker, markerAt, toMarkers } from './markers.ts'
import { createJsonScanner } from './json-scanner.ts'
import type { CallReader, CallSink } from './tool-call-parser.ts'

export type NamedSyntax = {
  readonly type: 'named'
  /** The text before the name; models may leave it out. */
  readonly prefix?: string
  /** The text between the name and the arguments. */
  readonly nameEnd: string
  /** The text after the arguments; null: the call ends with their last brace. */
  readonly close: string | null
  /** Extracts the tool's name from the text in its place; absent: the text is the name. */
  readonly toName?: (written: string) => string
}

/**
 * Reads one call that is a name, a separator and JSON. The JSON is emitted as the model wrote it, without the Markdown
 * fence that may enclose it.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `prefix`
 *   The text so far may be the beginning of the prefix.
 *   - The prefix is complete, or other text came: `name`.
 *
 * `name`
 *   The name and the separator are read.
 *   - The separator, after a name: `before-arguments`. The call starts.
 *   - The close tag, after a name: the call starts and is over, without arguments.
 *   - A character that no name contains, or no name before the separator: the text is not a call.
 *
 * `before-arguments`
 *   Only blanks, or a Markdown fence, so far.
 *   - `{` or `[`: `json`.
 *   - The close tag, and before it nothing, `null`, or a fence that is empty or contains `null`: the call is over,
 *     without arguments.
 *   - Other text: `raw`.
 *
 * `json`
 *   An object or a list is passed on.
 *   - Its last bracket: `after`. If the format has no close tag, the call is over.
 *   - The close tag outside of strings: the call is over, because models omit closing braces.
 *
 * `raw`
 *   Arguments that are neither an object nor a list are passed on, up to the end of the output at most.
 *   - The close tag: the call is over.
 *
 * `after`
 *   Surplus braces, blanks and the end of a fence are dropped.
 *   - The close tag, or other text: the call is over. Other text is not part of the call.
 */
export function createNamedCall(sink: CallSink, syntax: NamedSyntax): CallReader {
  const { prefix = '', nameEnd, close, toName = (written) => written } = syntax
  const closers = close === null ? [] : [close]
  const nameEnds = toMarkers([nameEnd, ...closers])
  const closeMarkers = toMarkers(closers)
  const stopUnit = close?.charCodeAt(0) ?? -1
  const json = createJsonScanner()
  let state: 'prefix' | 'name' | 'before-arguments' | 'json' | 'raw' | 'after' = 'prefix'
  /** An unfinished name, a fence, or text that may be the beginning of a marker. */
  let buffered = ''
  let wroteArguments = false

  function emit(text: string): void {
    if (text === '') return
    wroteArguments = true
    sink.onArguments(text)
  }

  function end(rest: string): string {
    if (!wroteArguments) sink.onArguments('{}')
    return rest
  }

  function noCall(text: string, end: number): string {
    sink.onNoCall(text.slice(0, end))
    return text.slice(end)
  }

  function pushPrefix(text: string): string | null {
    if (text.length < prefix.length && prefix.startsWith(text)) {
      buffered = text
      return null
    }
    state = 'name'
    return pushName(text.startsWith(prefix) ? text.slice(prefix.length) : text)
  }

  function pushName(text: string): string | null {
    const at = findMarker(text, nameEnds)
    const written = at === -1 ? text : text.slice(0, at)
    const fits = NAME.exec(written)?.[0].length ?? 0
    if (fits < written.length) return noCall(text, fits)
    const marker = at === -1 ? null : markerAt(text, at, nameEnds)
    if (marker === null) {
      buffered = text
      return null
    }
    const name = toName(written.trim())
    if (name === '') return noCall(text, at)
    sink.onStart(name)
    const rest = text.slice(at + marker.length)
    if (marker === close) return end(rest)
    state = 'before-arguments'
    return pushBefore(rest)
  }

  function pushBefore(given: string): string | null {
    const text = given.trimStart()
    const closed = pushNothing(text)
    if (closed !== undefined) return closed
    const begin = text.search(/[[{]/)
    const before = begin === -1 ? text : text.slice(0, begin)
    if (before.length > MAX_FENCE || !FENCE.test(before)) {
      state = 'raw'
      return pushRaw(text)
    }
    if (begin === -1) {
      buffered = text
      return null
    }
    state = 'json'
    return pushJson(text, begin)
  }

  /**
   * Reads the text up to the close tag if this text is empty, is `null`, or is a Markdown fence that is empty or
   * contains `null`. Each of these means that there are no arguments. Returns undefined if anything else comes before
   * the close tag. Otherwise returns the same as `push`.
   */
  function pushNothing(text: string): string | null | undefined {
    const at = findMarker(text, closeMarkers)
    const written = at === -1 ? text : text.slice(0, at)
    if (written.length > MAX_NOTHING || !NOTHING.test(written)) return undefined
    if (close === null || !text.startsWith(close, written.length)) {
      buffered = text
      return null
    }
    const isWhole = WHOLE_NOTHING.test(written)
    return isWhole ? end(text.slice(written.length + close.length)) : undefined
  }

  function pushJson(text: string, from: number): string | null {
    let begin = from
    for (;;) {
      const at = json.scan(text, begin, stopUnit)
      emit(text.slice(begin, at))
      if (json.isOver()) {
        state = 'after'
        return close === null ? end(text.slice(at)) : pushAfter(text.slice(at))
      }
      if (at === text.length || close === null) return null
      if (text.startsWith(close, at)) return end(text.slice(at + close.length))
      if (close.startsWith(text.slice(at))) {
        buffered = text.slice(at)
        return null
      }
      emit(text.charAt(at))
      begin = at + 1
    }
  }

  function pushRaw(text: string): string | null {
    const at = findMarker(text, closeMarkers)
    emit(at === -1 ? text : text.slice(0, at))
    if (at === -1) return null
    if (close !== null && text.startsWith(close, at)) return end(text.slice(at + close.length))
    buffered = text.slice(at)
    return null
  }

  /** Skips surplus braces, which are as common as missing ones. */
  function pushAfter(text: string): string | null {
    const rest = text.replace(/^[\s}`]+/, '')
    if (close === null || rest === '') return null
    if (rest.startsWith(close)) return end(rest.slice(close.length))
    if (!close.startsWith(rest)) return end(rest)
    buffered = rest
    return null
  }

  return {
    push(added) {
      const text = buffered + added
      buffered = ''
      switch (state) {
        case 'prefix':
          return pushPrefix(text)
        case 'name':
          return pushName(text)
        case 'before-arguments':
          return pushBefore(text)
        case 'json':
          return pushJson(text, 0)
        case 'raw':
          return pushRaw(text)
        case 'after':
          return pushAfter(text)
      }
    },
    finish() {
      if (state === 'prefix' || state === 'name') sink.onNoCall(buffered)
      else if (state === 'before-arguments' && /\bnull\b/.test(buffered)) emit('{}')
      buffered = ''
    },
  }
}

/** A name has no blanks, JSON or markup, and is no longer than a request allows. */
const NAME = /^\s{0,64}[^\s{}"'<>]{0,256}\s{0,64}/

/** `null`, in a Markdown fence or not, or the beginning of it. */
const NOTHING = /^(?:`{0,3}|(?:```(?:j|js|jso|json)?\s*)?(?:n|nu|nul|null)?\s*`{0,3}\s*)$/
const MAX_NOTHING = 32
const WHOLE_NOTHING = /^(?:```(?:json)?\s*)?(?:null)?\s*(?:```)?\s*$/

/** A Markdown fence, or the beginning of one. */
const FENCE = /^`{0,3}(?:j|js|jso|json)?\s*$/
const MAX_FENCE = 16
