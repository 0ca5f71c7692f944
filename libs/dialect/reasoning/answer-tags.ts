import { findMarker, markerAt, toMarkers } from '../syntax/markers.ts'
import type { ReasoningTags } from './think-tags.ts'

export type AnswerTags = {
  readonly push: (text: string) => void
  /** Must be called where a tool call follows the text so far. */
  readonly interrupt: () => void
  readonly finish: () => void
}

/**
 * Removes the tags that some models write around their answer (`<response>` … `</response>`). Tags are markup only at
 * the beginning and the end of the answer, blanks aside, so an answer may mention tags; line breaks next to them are
 * markup too. An answer without an open tag is unchanged.
 *
 * Moves: *start* → *tagged* | *plain*; *tagged* → *plain*.
 */
export function createAnswerTags(options: {
  readonly tags: ReasoningTags
  readonly onText: (text: string) => void
}): AnswerTags {
  const { open, close } = options.tags
  const ends = toMarkers([close])
  let state: 'start' | 'tagged' | 'plain' = 'start'
  /** Text that may be the beginning of a tag. */
  let buffered = ''
  /** Blanks and close tags, which are text if more text follows. */
  let pending = ''
  let isClosed = false
  let isEmpty = true

  function pushStart(text: string): void {
    const all = buffered + text
    const rest = all.trimStart()
    buffered = ''
    pending += all.slice(0, all.length - rest.length)
    if (rest.startsWith(open)) {
      state = 'tagged'
      pending = ''
      pushTagged(rest.slice(open.length))
    } else if (open.startsWith(rest)) {
      buffered = rest
    } else {
      state = 'plain'
      options.onText(pending + rest)
      pending = ''
    }
  }

  function pushTagged(text: string): void {
    let rest = buffered + text
    buffered = ''
    for (;;) {
      const at = findMarker(rest, ends)
      addText(at === -1 ? rest : rest.slice(0, at))
      if (at === -1) return
      rest = rest.slice(at)
      const marker = markerAt(rest, 0, ends)
      if (marker === null) {
        buffered = rest
        return
      }
      addClose()
      rest = rest.slice(marker.length)
    }
  }

  function addClose(): void {
    isClosed = true
    pending += close
  }

  function addText(text: string): void {
    const solid = text.trimEnd()
    if (solid !== '') emit(solid)
    pending += text.slice(solid.length)
  }

  function emit(text: string): void {
    const whole = pending + text
    options.onText(isEmpty ? whole.replace(/^[\r\n]+/, '') : whole)
    pending = ''
    isEmpty = false
    isClosed = false
  }

  return {
    push(text) {
      if (state === 'start') pushStart(text)
      else if (state === 'tagged') pushTagged(text)
      else options.onText(text)
    },
    interrupt() {
      const rest = buffered
      buffered = ''
      if (state === 'start' && rest !== '') {
        state = 'plain'
        options.onText(pending + rest)
      } else if (state === 'tagged') {
        if (isClosed) state = 'plain'
        else if (rest !== '') emit(rest)
      }
      pending = ''
    },
    finish() {
      const isMarkup = isClosed && buffered === ''
      if (!isMarkup && pending + buffered !== '') options.onText(pending + buffered)
      buffered = ''
      pending = ''
    },
  }
}
