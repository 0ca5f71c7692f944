import { render, type TemplateResult } from 'lit-html'

export type Drawing = {
  /** Sets the view that is drawn from now on. */
  show(view: () => TemplateResult): void
  /** Draws the view again, once a frame at most. */
  redraw(): void
  /** Draws the view at once, for a page that is about to be left. */
  drawNow(): void
}

/** Draws views in `place`, whose content only this function changes. */
export function createDrawing(place: HTMLElement): Drawing {
  let view: (() => TemplateResult) | undefined
  let isDrawing = false

  // Removes the document's own sentence, which was shown until this module ran.
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
