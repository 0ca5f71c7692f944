import { partialMarker } from '../partial-marker.ts'
import { createHermesCall, type HermesCall } from './hermes-call.ts'
import type { ToolCallParser, ToolCallSink } from './tool-call-parser.ts'

const OPEN = '<tool_call>'

/**
 * `<tool_call>{"name": …, "arguments": …}</tool_call>`, as Hermes, Qwen 2.5 and Qwen 3 write it, any number of
 * them between ordinary text. Blanks next to a call are markup: an answer of calls alone has no text at all.
 * What turns out to be no call becomes text again, its blanks included. `single`: the first call ends the output.
 */
export function createHermes(sink: ToolCallSink, options: { readonly single: boolean }): ToolCallParser {
  let call: HermesCall | null = null
  /** The beginning of an open tag, perhaps. */
  let held = ''
  /** Blanks that are dropped if a call follows them. */
  let blanks = ''
  let started = 0
  let hasText = false

  const isOver = () => options.single && started > 0 && call === null

  function pushText(text: string): string {
    const all = held + text
    const open = all.indexOf(OPEN)
    const tag = open === -1 ? all.length - partialMarker(all, OPEN) : open
    pushPlain(all.slice(0, tag))
    held = open === -1 ? all.slice(tag) : ''
    if (open === -1) return ''
    call = createHermesCall({
      onStart(name) {
        blanks = ''
        started += 1
        sink.onStart(name)
      },
      onArguments: sink.onArguments,
      onNoCall: (raw) => pushPlain(OPEN + raw),
    })
    return all.slice(open + OPEN.length)
  }

  function pushPlain(text: string): void {
    const solid = text.trimEnd()
    if (solid !== '') emitText(solid)
    blanks += text.slice(solid.length)
  }

  function emitText(text: string): void {
    const whole = blanks + text
    blanks = ''
    // After a call, text only goes on where there was text before; else it begins, without the call's blanks.
    const shown = started > 0 && !hasText ? whole.trimStart() : whole
    if (shown === '') return
    hasText = true
    sink.onText(shown)
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
      blanks = ''
    },
    isOver,
  }
}
