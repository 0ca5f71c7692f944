import { findMarker, markerAt, toMarkers } from './markers.ts'
import type { ToolCallParser, ToolCallSink } from './tool-call-parser.ts'

/** The control tokens of the harmony format. */
export const HARMONY_MARKERS = [
  '<|start|>',
  '<|channel|>',
  '<|message|>',
  '<|constrain|>',
  '<|end|>',
  '<|call|>',
  '<|return|>',
] as const

export type HarmonyMessages = ToolCallParser & { readonly isReasoning: () => boolean }

export type HarmonySink = ToolCallSink & { readonly onReasoning: (text: string) => void }

/**
 * Splits harmony's messages:
 * - A message with a recipient, such as `commentary to=functions.NAME`, is a call, whatever its channel is, because
 *   models mix channels up. The recipients in `NO_TOOL` do not make a message a call.
 * - Any other message on the channel `analysis` is reasoning: `<|channel|>analysis<|message|>…<|end|>`.
 * - Any other message is part of the answer.
 *
 * Without `tools` no message is a call. A message with a recipient is then reasoning if its channel is `analysis`, and
 * else part of the answer.
 *
 * If the reasoning consists of several messages, a blank line is emitted between their texts. The same is true of an
 * answer. Nothing is emitted between calls.
 *
 * No control token becomes part of a header's text, so no name contains one. A `<|constrain|>` in a header becomes a
 * blank.
 *
 * The prompt may end inside a header, as in `<|start|>assistant`. The first text of the output may continue this
 * header.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `start`
 *   No control token has come yet. The text so far may continue the header in which the prompt ends.
 *   - `<|start|>`, `<|channel|>`: `header`.
 *   - `<|message|>`: `body`, whose header is the text so far.
 *   - `<|end|>`, `<|call|>`, `<|return|>`: `between`.
 *   - Text that cannot continue a header, or the end of the output: `body` of the answer, which begins with this text.
 *
 * `header`
 *   The role, the recipient and the channel of a message.
 *   - `<|message|>`: `body`. The header decides whether it is reasoning, a call or the answer.
 *   - `<|start|>`: a new header begins. Still `header`.
 *   - `<|channel|>`: a new channel replaces the one so far. Still `header`.
 *   - `<|end|>`, `<|call|>`, `<|return|>`: `between`. The header is dropped.
 *   - More than 512 characters: `body` of the answer, which begins with them, because a `<|message|>` is missing.
 *
 * `body`
 *   The text of a message. `<|message|>` and `<|constrain|>` are dropped.
 *   - `<|start|>`, `<|channel|>`: `header`.
 *   - `<|end|>`, `<|call|>`, `<|return|>`: `between`.
 *
 * `between`
 *   - `<|start|>`, `<|channel|>`: `header`.
 *   - `<|message|>`: `body` of the answer, because the header is empty.
 *   - Text that is not blank: `body` of the answer, whose header is missing.
 */
export function createHarmonyMessages(
  sink: HarmonySink,
  options: { readonly tools: boolean; readonly single: boolean },
): HarmonyMessages {
  let state: 'start' | 'header' | 'body' | 'between' = 'start'
  let kind: 'reasoning' | 'text' | 'call' = 'text'
  let buffered = ''
  let role = ''
  let channel: string | null = null
  let calls = 0
  let hasArguments = false
  /** The beginning of arguments that may turn out to be `null`, which means that there are none. */
  let first = ''
  /**
   * The kinds, `reasoning` or `text`, of which something was emitted already. The next message of such a kind is
   * emitted with a separator in front.
   */
  const seen = new Set<'reasoning' | 'text' | 'call'>()
  let separator = ''

  const isOver = () => options.single && calls > 0 && (state !== 'body' || kind !== 'call')

  function beginHeader(): void {
    state = 'header'
    role = ''
    channel = null
  }

  /** A header is short; a longer text is an answer whose `<|message|>` is missing. */
  function addHeader(text: string): void {
    const taken = text.slice(0, MAX_HEADER - role.length - (channel ?? '').length)
    if (channel === null) role += taken
    else channel += taken
    if (taken.length < text.length) beginText(role + (channel ?? '') + text.slice(taken.length))
  }

  function beginText(text: string): void {
    state = 'body'
    kind = 'text'
    separator = seen.has(kind) ? '\n\n' : ''
    emit(text)
  }

  function beginBody(): void {
    state = 'body'
    const recipient = RECIPIENT.exec(`${role} ${channel ?? ''}`)?.[1] ?? ''
    const name = recipient.replace(/^functions\./, '')
    const isCall = name !== '' && !NO_TOOL.has(name)
    const thinks = (channel ?? '').trim().startsWith('analysis')
    kind = isCall && options.tools ? 'call' : thinks ? 'reasoning' : 'text'
    if (kind === 'call') {
      calls += 1
      hasArguments = false
      first = ''
      sink.onStart(name)
      return
    }
    separator = seen.has(kind) ? '\n\n' : ''
  }

  function emit(text: string): void {
    if (text === '') return
    if (kind === 'call') {
      emitArguments(text)
      return
    }
    const whole = separator + text
    separator = ''
    seen.add(kind)
    if (kind === 'reasoning') sink.onReasoning(whole)
    else sink.onText(whole)
  }

  function emitArguments(text: string): void {
    const all = first + text
    first = ''
    if (!hasArguments && NONE.startsWith(all.trim())) {
      first = all
      return
    }
    hasArguments = true
    sink.onArguments(all)
  }

  /** Ends the arguments, at the end of a call's body or of the output. */
  function endArguments(): void {
    const written = first.trim()
    if (hasArguments) return
    hasArguments = true
    sink.onArguments(written === '' || written === NONE ? '{}' : first)
  }

  function endBody(): void {
    if (kind === 'call') endArguments()
    state = 'between'
  }

  function addText(text: string): void {
    if (text === '') return
    if (state === 'body') {
      emit(text)
    } else if (state === 'header') {
      addHeader(text)
    } else {
      readOutside(text)
    }
  }

  /**
   * Reads text that is not within a message. At the start of the output, this text may continue the header in which the
   * prompt ends. Anywhere else, it is the text of a message whose header is missing.
   */
  function readOutside(text: string): void {
    if (state === 'start') {
      role += text
      if (!mayBeginHeader(role)) beginText(role)
      return
    }
    const solid = text.trimStart()
    if (solid !== '') beginText(solid)
  }

  function meet(marker: string): void {
    switch (marker) {
      case '<|start|>':
        if (state === 'body') endBody()
        beginHeader()
        break
      case '<|channel|>':
        if (state === 'body') endBody()
        if (state === 'between') beginHeader()
        // A second `<|channel|>` in a header replaces the first.
        state = 'header'
        channel = ''
        break
      case '<|message|>':
        if (state === 'between') beginHeader()
        if (state !== 'body') beginBody()
        break
      case '<|constrain|>':
        if (state === 'header') addHeader(' ')
        break
      default:
        if (state === 'body') endBody()
        else state = 'between'
    }
  }

  return {
    push(text) {
      let all = buffered + text
      buffered = ''
      while (all !== '' && !isOver()) {
        const at = findMarker(all, MARKERS)
        addText(at === -1 ? all : all.slice(0, at))
        if (at === -1) return
        const marker = markerAt(all, at, MARKERS)
        if (marker === null) {
          buffered = all.slice(at)
          return
        }
        meet(marker)
        all = all.slice(at + marker.length)
      }
    },
    finish(isCut = false) {
      // The beginning of a marker is not part of the arguments.
      if (!isCut && (state !== 'body' || kind !== 'call')) addText(buffered)
      buffered = ''
      if (!isCut && state === 'start' && role !== '') beginText(role)
      if (state === 'body' && kind === 'call' && first !== '') endArguments()
    },
    isReasoning: () => state === 'body' && kind === 'reasoning',
    isOver,
    isOpen: () => state === 'body' && kind === 'call',
  }
}

function mayBeginHeader(text: string): boolean {
  const written = text.trim()
  return (
    text.length <= MAX_HEADER &&
    ('assistant'.startsWith(written) || /^(?:assistant\s*)?(?:to?|to=\S*)?$/.test(written))
  )
}

const MARKERS = toMarkers(HARMONY_MARKERS)
const MAX_HEADER = 512

const NONE = 'null'

/** A recipient reaches up to the next blank or control token. */
const RECIPIENT = /to=([^\s<]+)/

/** Recipients that are not tools. */
export const NO_TOOL: ReadonlySet<string> = new Set([
  'all',
  'assistant',
  'user',
  'final',
  'analysis',
  'commentary',
])
