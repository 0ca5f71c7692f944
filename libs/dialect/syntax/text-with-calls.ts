import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import { findMarker, markerAt, toMarkers } from './markers.ts'
import { createNamedCall, type NamedSyntax } from './named-call.ts'
import { createObjectCall, type ObjectSyntax } from './object-call.ts'
import { createParameterCall, type ParameterSyntax } from './parameter-call.ts'
import { createPythonCall, type PythonSyntax } from './python-call.ts'
import type { CallReader, CallSink, ToolCallParser, ToolCallSink } from './tool-call-parser.ts'

type CallSyntax = ObjectSyntax | NamedSyntax | ParameterSyntax | PythonSyntax

/** Calls that are marked in the text of an answer. */
export type TextSyntax = {
  readonly type: 'text'
  /** The syntax of a call by the text that opens it. */
  readonly calls?: Readonly<Record<string, CallSyntax>>
  /** The text around all calls. */
  readonly section?: { readonly open: string; readonly close: string }
  /**
   * The syntax of calls that are JSON objects, side by side or in a list. Such calls follow any of the `openers`. If
   * `unmarked` is true, they may also stand at the beginning of the output without an opener. There, an item of the
   * list counts as a call only if it names one of the request's tools. `bare` has the syntax of a call that is not an
   * object, and the texts that such a call may follow.
   */
  readonly list?: {
    readonly openers: readonly string[]
    readonly unmarked: boolean
    readonly object: ObjectSyntax
    readonly bare?: { readonly behind: readonly string[]; readonly syntax: NamedSyntax | PythonSyntax }
  }
  /**
   * Present if the markers are control tokens, which are never text. `leftovers` are further control tokens of the
   * format. They open no call, and are dropped outside of calls.
   */
  readonly control?: { readonly leftovers: readonly string[] }
}

/**
 * Splits any number of calls from the text around them. Blanks and markers next to a call are markup, so an answer that
 * consists of calls has no text. If no call follows an opener, the opener and the blanks around it become text, unless the output was cut off. A
 * control token never becomes text. `single`: the first call ends the output.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * *text*
 *   Text is passed on. Blanks at its end are kept back, because they are dropped if a call follows.
 *   - The opener of a call: *call*.
 *   - The opener of a list: *list*.
 *
 * *list* (`inList`)
 *   Only brackets, commas, semicolons and blanks stand between calls. If the list is `unmarked`, the output begins
 *   here.
 *   - `{`: *call*, an object.
 *   - Other text after one of the texts in `bare.behind`, blanks aside: *call*, in the syntax of `bare`.
 *   - The opener of a call: *call*.
 *   - One of the `boundaries`, or other text: *text*.
 *
 * *call* (`call` is not null)
 *   The reader of the call's syntax reads the text.
 *   - The call is over: *list* if it began there, else *text*. With `single`, nothing more is read.
 *   - The text that was read is not a call: *text*. This text is passed on.
 */
export function createTextWithCalls(
  sink: ToolCallSink,
  options: {
    readonly syntax: TextSyntax
    readonly tools: readonly ToolDefinition[]
    readonly single: boolean
    /** Other texts with a meaning, such as the tags of the reasoning: they end a list of calls. */
    readonly boundaries?: readonly string[]
  },
): ToolCallParser {
  const { tools, single } = options
  const boundaries = toMarkers(options.boundaries ?? [])
  const { section, list, control } = options.syntax
  const calls = new Map(Object.entries(options.syntax.calls ?? {}))
  const markers = toMarkers(markersOutside(options.syntax))
  let call: CallReader | null = null
  /** Text that may be the beginning of a marker. */
  let buffered = ''
  /** Text that is dropped if a call follows: blanks, markers before calls, separators of a list. */
  let pending = ''
  let inList = list?.unmarked === true
  /**
   * The names of the request's tools while the list has no opener, else undefined. A list without an opener may be an
   * answer, so an item of it counts as a call only if it names one of these tools.
   */
  let offered: ReadonlySet<string> | undefined = inList ? new Set(tools.map(({ name }) => name)) : undefined
  /** The last opener, bracket or comma of a list; null: something else came since. */
  let mark: string | null = null
  let started = 0
  let hasText = false
  /** True if the output was cut off: then text that may have become a call is not text of the answer. */
  let isCut = false
  /** True if nothing but markup has come since the last call. */
  let afterCall = false

  const isOver = () => single && started > 0 && call === null

  /** Reads text outside of calls and returns the rest that belongs to a call. */
  function pushText(text: string): string {
    const all = buffered + text
    buffered = ''
    if (inList) {
      const from = skipBetween(all)
      if (from === all.length) return ''
      if (findMarker(all, boundaries, from) === from) {
        if (markerAt(all, from, boundaries) === null) {
          buffered = all.slice(from)
          return ''
        }
        inList = false
        return pushMarked(all, from)
      }
      if (all[from] === '{' && list !== undefined) {
        call = openCall(list.object, '')
        return all.slice(from)
      }
      // The beginning of a marker may still become a whole marker.
      const at = findMarker(all, markers, from)
      if (at !== from && mark !== null && list?.bare?.behind.includes(mark)) {
        call = openCall(list.bare.syntax, '')
        return all.slice(from)
      }
      if (at !== from) inList = false
      return pushMarked(all, from)
    }
    return pushMarked(all, 0)
  }

  /** Returns the index of the first character that is not a separator of a list. */
  function skipBetween(text: string): number {
    const ends = [findMarker(text, markers), findMarker(text, boundaries)].filter((place) => place !== -1)
    const end = Math.min(text.length, ...ends)
    let at = 0
    while (at < end && BETWEEN.includes(text.charAt(at))) at += 1
    const between = text.slice(0, at)
    const blanks = between.replaceAll(/\S/g, '')
    mark = between.trimEnd().at(-1) ?? mark
    // After a call, brackets and commas are markup, whatever follows.
    pending += afterCall ? blanks : between
    return at
  }

  function pushMarked(all: string, from: number): string {
    const at = findMarker(all, markers, from)
    if (at !== from) pushPlain(all.slice(from, at === -1 ? all.length : at))
    if (at === -1) return ''
    const marker = markerAt(all, at, markers)
    if (marker === null) {
      buffered = all.slice(at)
      return ''
    }
    const rest = all.slice(at + marker.length)
    const syntax = calls.get(marker)
    if (syntax !== undefined) call = openCall(syntax, asText(marker))
    else meet(marker)
    return rest
  }

  /** Handles a marker that does not open a call by itself. */
  function meet(marker: string): void {
    if (list?.openers.includes(marker) === true) {
      inList = true
      offered = undefined
      mark = marker
      pending += asText(marker)
    } else if (marker === section?.open) {
      pending += asText(marker)
    } else if (!(marker === section?.close && afterCall) && control === undefined) {
      pushPlain(marker)
    }
  }

  /** A control token is never text. */
  const asText = (marker: string) => (control === undefined ? marker : '')

  function pushPlain(text: string): void {
    const solid = text.trimEnd()
    if (solid !== '') emitText(solid)
    pending += text.slice(solid.length)
  }

  function emitText(text: string): void {
    const whole = pending + text
    pending = ''
    // Text after a call continues the text before the call. If there was no text before the call, the leading blanks of
    // the text after the call are dropped.
    const shown = started > 0 && !hasText ? whole.trimStart() : whole
    if (shown === '') return
    hasText = true
    afterCall = false
    inList = false
    sink.onText(shown)
  }

  function openCall(syntax: CallSyntax, opener: string): CallReader {
    mark = null
    /** True while the opener may still turn out to be text. */
    let isOpener = true
    return createReader(syntax, {
      onStart(name) {
        isOpener = false
        pending = ''
        started += 1
        afterCall = true
        sink.onStart(name)
      },
      onArguments: sink.onArguments,
      onNoCall(raw) {
        if (!isCut) pushPlain((isOpener ? opener : '') + raw)
      },
    })
  }

  function createReader(syntax: CallSyntax, callSink: CallSink): CallReader {
    switch (syntax.type) {
      case 'object':
        return createObjectCall(callSink, syntax, offered)
      case 'named':
        return createNamedCall(callSink, syntax)
      case 'parameters':
        return createParameterCall(callSink, { syntax, tools })
      case 'python':
        return createPythonCall(callSink, offered)
    }
  }

  return {
    push(text) {
      let rest = text
      while (rest !== '' && !isOver()) {
        if (call === null) {
          rest = pushText(rest)
        } else {
          const after = call.push(rest)
          if (after === null) return
          call = null
          rest = after
        }
      }
    },
    finish(cut = false) {
      isCut = cut
      call?.finish()
      call = null
      if (cut) buffered = ''
      if (cut && pending.trim() !== '') pending = ''
      if (buffered !== '' || started === 0) emitText(buffered)
      buffered = ''
      pending = ''
    },
    isOver,
    isOpen: () => call !== null,
  }
}

const BETWEEN = '[],; \t\r\n'

/** Returns every text that has a meaning in the format. */
export function markersOf(syntax: TextSyntax): readonly string[] {
  const { calls, list } = syntax
  const inCalls = [...Object.values(calls ?? {}), list?.object, list?.bare?.syntax].flatMap(markersInside)
  return [...markersOutside(syntax), ...inCalls.filter((marker) => marker !== null)]
}

function markersOutside({ calls, section, list, control }: TextSyntax): readonly string[] {
  return [
    ...Object.keys(calls ?? {}),
    ...(section === undefined ? [] : [section.open, section.close]),
    ...(list?.openers ?? []),
    ...(control?.leftovers ?? []),
  ]
}

function markersInside(syntax: CallSyntax | undefined): readonly (string | null)[] {
  switch (syntax?.type) {
    case 'object':
      return [syntax.close]
    case 'named':
      return [syntax.prefix ?? null, syntax.nameEnd, syntax.close]
    case 'parameters':
      return [syntax.keyOpen, syntax.keyEnd, syntax.valueOpen, syntax.valueEnd, syntax.close]
    case 'python':
    case undefined:
      return []
  }
}
