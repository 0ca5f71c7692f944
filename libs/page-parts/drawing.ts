import { render, type TemplateResult } from 'lit-html'

export type Drawing = {
  /** Sets the view that is drawn from now on. */
  show(view: () => TemplateResult): void
  /** Draws it again, once a frame at most. */
  redraw(): void
  /** Draws it at once, for a page that is about to be left. */
  drawNow(): void
}

/** Everything drawn in `place` is drawn here. */
export function createDrawing(place: HTMLElement): Drawing {
  let view: (() => TemplateResult) | undefined
  let isDrawing = false

  // The document's own sentence, for the time before this module.
  place.replaceChildren()

  function redraw(): void {
    if (isDrawing) return
    isDrawing = true
    requestAnimationFrame(() => {
      isDrawing = false
      drawNow()
    })
  }

  function drawNow(): void {
    if (view !== undefined) render(view(), place)
  }

  return {
    show(next) {
      view = next
      redraw()
    },
    redraw,
    drawNow,
  }
}
