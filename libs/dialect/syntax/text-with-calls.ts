import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import { findMarker, markerAt, toMarkers } from '../markers.ts'
import { createNamedCall, type NamedSyntax } from './named-call.ts'
import { createObjectCall, type ObjectSyntax } from './object-call.ts'
import { createParameterCall, type ParameterSyntax } from './parameter-call.ts'
import { createPythonCall, type PythonSyntax } from './python-call.ts'
import type { CallReader, CallSink, ToolCallParser, ToolCallSink } from './tool-call-parser.ts'

type CallSyntax = ObjectSyntax | NamedSyntax | ParameterSyntax | PythonSyntax

/** How a family writes calls into its text. */
export type ToolFormat = {
  /** What opens a call, by its text, and how the call goes on. */
  readonly calls: Readonly<Record<string, CallSyntax>>
  /** What stands around all calls. */
  readonly section: { readonly open: string; readonly close: string } | null
  /**
   * Calls as JSON objects side by side or in a list, behind any of the `openers` and, if `unmarked`, also where the
   * output begins. `bare`: how a call goes on that is no object, and what it stands behind.
   */
  readonly list: {
    readonly openers: readonly string[]
    readonly unmarked: boolean
    readonly object: ObjectSyntax
    readonly bare: { readonly behind: readonly string[]; readonly syntax: NamedSyntax | PythonSyntax } | null
  } | null
  /** The markers are control tokens, and these are others of them: what is left of them is never text. */
  readonly control: { readonly leftovers: readonly string[] } | null
}

/**
 * Any number of calls between ordinary text. Blanks and markers next to a call are markup: an answer of calls
 * alone has no text at all. What turns out to be no call becomes text again, its blanks included, but for control
 * tokens. `single`: the first call ends the output.
 *
 * Moves: *text* → *call* → *text* …; in a list (*list*) only brackets, commas and blanks stand between calls.
 */
export function createTextWithCalls(
  sink: ToolCallSink,
  options: {
    readonly format: ToolFormat
    readonly tools: readonly ToolDefinition[]
    readonly single: boolean
  },
): ToolCallParser {
  const { format, tools, single } = options
  const { section, list, control } = format
  const calls = new Map(Object.entries(format.calls))
  const markers = toMarkers([
    ...calls.keys(),
    ...(section === null ? [] : [section.open, section.close]),
    ...(list?.openers ?? []),
    ...(control?.leftovers ?? []),
  ])
  let call: CallReader | null = null
  /** The beginning of a marker, perhaps. */
  let held = ''
  /** Dropped if a call follows: blanks, markers that stand before calls, what stands between those of a list. */
  let pending = ''
  let inList = list?.unmarked === true
  /** The opener, bracket or comma that came last in a list; null: something else came since. */
  let mark: string | null = null
  let started = 0
  let hasText = false
  /** Nothing but markup has come since the last call. */
  let afterCall = false

  const isOver = () => single && started > 0 && call === null

  /** Reads on outside of calls, and returns what is left for a call. */
  function pushText(text: string): string {
    const all = held + text
    held = ''
    if (inList) {
      const from = skipBetween(all)
      if (from === all.length) return ''
      if (all[from] === '{' && list !== null) {
        call = openCall(list.object, '')
        return all.slice(from)
      }
      // The beginning of a marker may still turn out to be one.
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

  /** The place of the first character that does not stand between the calls of a list. */
  function skipBetween(text: string): number {
    const marker = findMarker(text, markers)
    const end = marker === -1 ? text.length : marker
    let at = 0
    while (at < end && BETWEEN.includes(text.charAt(at))) at += 1
    const between = text.slice(0, at)
    const blanks = between.replaceAll(/\S/g, '')
    mark = between.trimEnd().at(-1) ?? mark
    // Behind a call brackets and commas have done their work, whatever follows.
    pending += afterCall ? blanks : between
    return at
  }

  function pushMarked(all: string, from: number): string {
    const at = findMarker(all, markers, from)
    if (at !== from) pushPlain(all.slice(from, at === -1 ? all.length : at))
    if (at === -1) return ''
    const marker = markerAt(all, at, markers)
    if (marker === null) {
      held = all.slice(at)
      return ''
    }
    const rest = all.slice(at + marker.length)
    const syntax = calls.get(marker)
    if (syntax !== undefined) call = openCall(syntax, asText(marker))
    else meet(marker)
    return rest
  }

  /** A marker that opens no call by itself. */
  function meet(marker: string): void {
    if (list !== null && list.openers.includes(marker)) {
      inList = true
      mark = marker
      pending += asText(marker)
    } else if (marker === section?.open) {
      pending += asText(marker)
    } else if (!(marker === section?.close && afterCall) && control === null) {
      pushPlain(marker)
    }
  }

  /** A control token is no text, whatever becomes of it. */
  const asText = (marker: string) => (control === null ? marker : '')

  function pushPlain(text: string): void {
    const solid = text.trimEnd()
    if (solid !== '') emitText(solid)
    pending += text.slice(solid.length)
  }

  function emitText(text: string): void {
    const whole = pending + text
    pending = ''
    // After a call, text only goes on where there was text before; else it begins, without the call's blanks.
    const shown = started > 0 && !hasText ? whole.trimStart() : whole
    if (shown === '') return
    hasText = true
    afterCall = false
    inList = false
    sink.onText(shown)
  }

  function openCall(syntax: CallSyntax, opener: string): CallReader {
    mark = null
    return createReader(syntax, {
      onStart(name) {
        pending = ''
        started += 1
        afterCall = true
        sink.onStart(name)
      },
      onArguments: sink.onArguments,
      onNoCall: (raw) => pushPlain(opener + raw),
    })
  }

  function createReader(syntax: CallSyntax, callSink: CallSink): CallReader {
    switch (syntax.type) {
      case 'object':
        return createObjectCall(callSink, syntax)
      case 'named':
        return createNamedCall(callSink, syntax)
      case 'parameters':
        return createParameterCall(callSink, { syntax, tools })
      case 'python':
        return createPythonCall(callSink)
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
    finish() {
      call?.finish()
      call = null
      if (held !== '' || started === 0) emitText(held)
      held = ''
      pending = ''
    },
    isOver,
  }
}

const BETWEEN = '[],; \t\r\n'
