import { findMarker, markerAt, toMarkers } from '../syntax/markers.ts'

export type ReasoningParser = {
  readonly push: (text: string) => void
  /**
   * Must be called when a tool call begins, after all text before the tool call was pushed. Reasoning that is open goes
   * on after the tool call, until the close tag of the reasoning.
   */
  readonly interrupt: () => void
  readonly finish: () => void
  readonly isReasoning: () => boolean
}

export type ReasoningTags = { readonly open: string; readonly close: string }

/**
 * Splits reasoning between tags (`<think>` … `</think>`, `[THINK]` … `[/THINK]`) from the answer. An open tag is markup
 * only at the very start of the output. There it is markup even if the template has opened the reasoning already,
 * because some models repeat the tag. A close tag ends open reasoning. If neither the template nor the output has
 * opened the reasoning, a close tag is markup only at the very start of the output. So an answer may mention tags. Line
 * breaks just inside the tags, after the close tag, and next to a call within the reasoning are dropped.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `start`
 *   So far the output has only blanks and perhaps the beginning of a tag.
 *   - The open tag: `reasoning`. The blanks before it are dropped.
 *   - The close tag: `answer`. The blanks before it are dropped.
 *   - Other text, or the end of the output: `reasoning` if the template has opened the reasoning, else `answer`.
 *   - A call, after the beginning of a tag: that beginning counts as other text.
 *   - A call, after blanks only: the blanks are dropped. Still `start`.
 *
 * `reasoning`
 *   Text is reasoning. Line breaks at its end are kept back, because they are dropped before the close tag and a call.
 *   - The close tag: `answer`.
 *   - A call: `reasoning` goes on after it.
 *
 * `answer`
 *   All text up to the end belongs to the answer.
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
  let state: 'start' | 'reasoning' | 'answer' = 'start'
  /** Text that may be the beginning of a tag. */
  let buffered = ''
  /** Blanks that are dropped if a tag follows; separate from `buffered`, so that a long run is not scanned again. */
  let blanks = ''
  /** True until the first character after a tag that is not a line break. */
  let afterTag = options.startsInReasoning

  function pushStart(text: string): void {
    const all = buffered + text
    const rest = all.trimStart()
    buffered = ''
    blanks += all.slice(0, all.length - rest.length)
    if (rest.startsWith(open)) {
      state = 'reasoning'
      afterTag = true
      blanks = ''
      pushReasoning(rest.slice(open.length))
    } else if (rest.startsWith(close)) {
      blanks = ''
      endReasoning(rest.slice(close.length))
    } else if (open.startsWith(rest) || close.startsWith(rest)) {
      buffered = rest
    } else {
      leaveStart(rest)
    }
  }

  function leaveStart(rest: string): void {
    const text = blanks + rest
    blanks = ''
    state = options.startsInReasoning ? 'reasoning' : 'answer'
    if (state === 'reasoning') pushReasoning(text)
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
    const marker = at === -1 ? null : markerAt(all, at, ends)
    if (marker === null) {
      blanks += all.slice(trimmed, tag)
      buffered = all.slice(tag)
      return
    }
    blanks = ''
    endReasoning(all.slice(tag + close.length))
  }

  function endReasoning(rest: string): void {
    state = 'answer'
    afterTag = true
    pushAnswer(rest)
  }

  function emitReasoning(text: string): void {
    afterTag = false
    onReasoning(text)
  }

  function pushAnswer(text: string): void {
    const rest = afterTag ? dropLeadingBreaks(text) : text
    if (rest === '') return
    afterTag = false
    onText(rest)
  }

  return {
    push(text) {
      if (state === 'answer') pushAnswer(text)
      else if (state === 'reasoning') pushReasoning(text)
      else pushStart(text)
    },
    interrupt() {
      const rest = buffered
      buffered = ''
      if (rest === '') blanks = ''
      else if (state === 'start') leaveStart(rest)
      else emitReasoning(blanks + rest)
      blanks = ''
      afterTag = state !== 'answer'
    },
    finish() {
      if (state === 'start') {
        const rest = buffered
        buffered = ''
        leaveStart(rest)
      }
      const text = blanks + buffered
      blanks = ''
      buffered = ''
      if (text !== '') onReasoning(text)
    },
    isReasoning: () => state === 'reasoning' || (state === 'start' && options.startsInReasoning),
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
