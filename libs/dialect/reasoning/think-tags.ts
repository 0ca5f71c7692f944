import { findMarker, markerAt, toMarkers } from '../syntax/markers.ts'

export type ReasoningParser = {
  readonly push: (text: string) => void
  /**
   * Must be called when a tool call begins, after all text before the tool call was pushed. Reasoning that is open goes
   * on after the tool call, until the close tag of the reasoning.
   */
  readonly interrupt: () => void
  /** `isCut`: the output was cut off, so the beginning of a tag at its end is dropped. */
  readonly finish: (isCut?: boolean) => void
  readonly isReasoning: () => boolean
}

export type ReasoningTags = { readonly open: string; readonly close: string }

/**
 * Splits reasoning between tags (`<think>` … `</think>`, `[THINK]` … `[/THINK]`) from the answer. Models repeat tags, and
 * reason again behind a part of the answer. A tag is markup where a model that reasons writes one: at the start of the
 * output, next to another tag, at the start of a line, or directly behind a word or the end of a sentence. Elsewhere in
 * the answer it is text, so an answer may mention tags: behind a blank, in quotes, or in a block of code. Line breaks
 * just inside the tags, after the close tag, and next to a call within the reasoning are dropped.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `start`
 *   Since the start of the output or the last tag there were only blanks, and perhaps the beginning of a tag.
 *   - The open tag: `start`, and the reasoning is open. The blanks before it are dropped.
 *   - The close tag: `start`, and the reasoning is not open. The blanks before it are dropped.
 *   - Other text, or the end of the output: `reasoning` if the template or a tag has opened it, else `answer`.
 *   - A call, after the beginning of a tag: that beginning counts as other text.
 *   - A call, after blanks only: the blanks are dropped. Still `start`.
 *
 * `reasoning`
 *   Text is reasoning. Line breaks at its end are kept back, because they are dropped before the close tag and a call.
 *   - The close tag: `start`.
 *   - A call: `reasoning` goes on after it.
 *
 * `answer`
 *   - A tag that is markup: `start`.
 */
export function createThinkTags(options: {
  readonly tags: ReasoningTags
  readonly startsInReasoning: boolean
  readonly onReasoning: (text: string) => void
  readonly onText: (text: string) => void
}): ReasoningParser {
  const { onReasoning, onText } = options
  const { open, close } = options.tags
  const ends = toMarkers([close])
  const tags = toMarkers([open, close])
  let state: 'start' | 'reasoning' | 'answer' = 'start'
  let opened = options.startsInReasoning
  /** Text that may be the beginning of a tag. */
  let buffered = ''
  /** Blanks that are dropped if a tag follows; separate from `buffered`, so that a long run is not scanned again. */
  let blanks = ''
  /** True until the first character after a tag that is not a line break. */
  let afterTag = options.startsInReasoning
  const lines = createLines()

  function pushStart(text: string): void {
    const all = buffered + text
    const rest = all.trimStart()
    buffered = ''
    blanks += all.slice(0, all.length - rest.length)
    const tag = markerAt(rest, 0, tags)
    if (tag !== null) {
      meet(tag)
      pushStart(rest.slice(tag.length))
    } else if (open.startsWith(rest) || close.startsWith(rest)) {
      buffered = rest
    } else {
      leaveStart(rest)
    }
  }

  function meet(tag: string): void {
    state = 'start'
    opened = tag === open
    afterTag = true
    blanks = ''
  }

  function leaveStart(rest: string): void {
    const text = blanks + rest
    blanks = ''
    state = opened ? 'reasoning' : 'answer'
    if (opened) pushReasoning(text)
    else pushAnswer(text)
  }

  function pushReasoning(text: string): void {
    let all = buffered + text
    buffered = ''
    if (afterTag) {
      all = dropLeadingBreaks(all)
      if (all === '') return
    }
    const at = findMarker(all, ends)
    const tag = at === -1 ? all.length : at
    const trimmed = withoutTrailingBreaks(all, tag)
    if (trimmed > 0) {
      emitReasoning(blanks + all.slice(0, trimmed))
      blanks = ''
    }
    if (at === -1 || markerAt(all, at, ends) === null) {
      blanks += all.slice(trimmed, tag)
      buffered = all.slice(tag)
      return
    }
    meet(close)
    pushStart(all.slice(tag + close.length))
  }

  function emitReasoning(text: string): void {
    afterTag = false
    onReasoning(text)
  }

  function pushAnswer(text: string): void {
    const all = buffered + text
    buffered = ''
    let from = 0
    for (let at = findMarker(all, tags); at !== -1; at = findMarker(all, tags, at + 1)) {
      emitAnswer(all.slice(from, at))
      from = at
      const tag = markerAt(all, at, tags)
      if (tag === null) {
        buffered = all.slice(at)
        return
      }
      if (!lines.mayHaveTag()) continue
      meet(tag)
      pushStart(all.slice(at + tag.length))
      return
    }
    emitAnswer(all.slice(from))
  }

  function emitAnswer(text: string): void {
    const rest = afterTag ? dropLeadingBreaks(text) : text
    if (rest === '') return
    afterTag = false
    lines.note(rest)
    onText(rest)
  }

  /** Passes on the text that might have become a tag. */
  function release(): void {
    const rest = buffered
    buffered = ''
    if (state === 'start') state = opened ? 'reasoning' : 'answer'
    const text = blanks + rest
    blanks = ''
    if (state === 'answer') emitAnswer(text)
    else if (text !== '') emitReasoning(afterTag ? dropLeadingBreaks(text) : text)
  }

  return {
    push(text) {
      if (state === 'answer') pushAnswer(text)
      else if (state === 'reasoning') pushReasoning(text)
      else pushStart(text)
    },
    interrupt() {
      if (buffered === '') blanks = ''
      else release()
      afterTag = state !== 'answer'
    },
    finish(isCut = false) {
      if (isCut) buffered = ''
      release()
    },
    isReasoning: () => state === 'reasoning' || (state === 'start' && opened),
  }
}

function dropLeadingBreaks(text: string): string {
  let start = 0
  while (isBreak(text, start)) start += 1
  return start === 0 ? text : text.slice(start)
}

function withoutTrailingBreaks(text: string, end: number): number {
  while (isBreak(text, end - 1)) end -= 1
  return end
}

function isBreak(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit === 0x0a || unit === 0x0d
}

/** Follows the lines of an answer, and returns whether a tag at its end is markup. */
function createLines() {
  /** The first characters of the last line, without blanks at its beginning: enough to find a fence. */
  let head = ''
  let last = ''
  let isFenced = false
  return {
    note(text: string): void {
      last = text.slice(-1)
      for (const [index, line] of text.split('\n').entries()) {
        if (index > 0) {
          if (head === FENCE) isFenced = !isFenced
          head = ''
        }
        if (head.length < FENCE.length) head = (head + line).trimStart().slice(0, FENCE.length)
      }
    },
    mayHaveTag: () => !isFenced && (head === '' || BEFORE_TAG.test(last)),
  }
}

const FENCE = '```'
/** A letter, a digit, or the end of a sentence. */
const BEFORE_TAG = /[\p{L}\p{N}.!?:;,]/u
