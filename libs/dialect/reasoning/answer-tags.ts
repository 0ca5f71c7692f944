import { findMarker, markerAt, toMarkers } from '../syntax/markers.ts'
import type { ReasoningTags } from './think-tags.ts'

export type AnswerTags = {
  readonly push: (text: string) => void
  /** Must be called where a tool call follows the text so far. */
  readonly interrupt: () => void
  /** `isCut`: the output was cut off, so the beginning of a tag at its end is dropped. */
  readonly finish: (isCut?: boolean) => void
}

/**
 * Removes the tags that some models write around their answer (`<response>` … `</response>`). Tags are markup only at
 * the beginning and the end of the answer, blanks aside, so an answer may mention tags. Line breaks next to the tags
 * are markup too. An answer without an open tag is unchanged.
 *
 * These are the states. Each item of a state says what comes in the output, and which state is next.
 *
 * `start`
 *   Only blanks, or the beginning of the open tag, so far.
 *   - The open tag: `tagged`. The blanks before it are dropped.
 *   - Other text: `plain`. The blanks before it are passed on as well.
 *   - A call, after the beginning of an open tag: `plain`. That beginning is passed on as text.
 *   - A call, after blanks only: the blanks are dropped. Still `start`.
 *
 * `tagged`
 *   The answer after its open tag. Close tags and blanks are kept back. They are text if more text follows.
 *   - A call, after a close tag: `plain`. The close tag and the blanks are dropped.
 *   - Any other call: `tagged` goes on after it.
 *   - The end of the output, after a close tag: the tag and the blanks are dropped.
 *
 * `plain`
 *   All text is passed on unchanged, up to the end.
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
    finish(isCut = false) {
      if (isCut) buffered = ''
      const isMarkup = isClosed && buffered === ''
      if (!isMarkup && pending + buffered !== '') options.onText(pending + buffered)
      buffered = ''
      pending = ''
    },
  }
}
