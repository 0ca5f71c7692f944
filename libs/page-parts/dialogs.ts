import { html, nothing, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import type { PageApp } from './page-app.ts'

/** How long a message about a completed action stays. */
const SAID_MS = 6_000

export type Dialogs = {
  readonly forScreens: Pick<PageApp, 'openDialog' | 'closeDialog' | 'say'>
  readonly isOpen: boolean
  /** Returns the dialog and the message, to be drawn after the content of the page. */
  view(): TemplateResult
  close(): void
}

/** Shows at most one dialog at a time, and the last message. */
export function createDialogs(redraw: () => void): Dialogs {
  let dialog: (() => TemplateResult) | undefined
  let opener: Element | null = null
  let said = ''
  let saidTimer: ReturnType<typeof setTimeout> | undefined

  const forScreens: Dialogs['forScreens'] = {
    openDialog(content) {
      if (dialog === undefined) opener = document.activeElement
      dialog = content
      redraw()
    },
    closeDialog() {
      dialog = undefined
      redraw()
    },
    say(text) {
      said = text
      clearTimeout(saidTimer)
      saidTimer = setTimeout(() => {
        said = ''
        redraw()
      }, SAID_MS)
      redraw()
    },
  }

  /**
   * Shows a new dialog, or gives the focus back after a dialog is removed. lit-html calls this function before it
   * inserts or removes the dialog's element, so the function acts only after the drawing has ended.
   */
  function showModal(element: Element | undefined): void {
    queueMicrotask(() => {
      if (element === undefined) returnFocus()
      if (!(element instanceof HTMLDialogElement) || element.open || !element.isConnected) return
      element.showModal()
      const field = element.querySelector('input, select, textarea')
      if (field instanceof HTMLElement) field.focus()
    })
  }

  /** Gives the focus back to the element that had it before the dialog. A removed dialog takes the focus with it. */
  function returnFocus(): void {
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    opener = null
  }

  return {
    forScreens,
    get isOpen() {
      return dialog !== undefined
    },
    view: () =>
      html`<p class="said" role="status">${said}</p>
        ${
          dialog === undefined
            ? nothing
            : html`<dialog
                aria-labelledby="dialog-title"
                ${ref(showModal)}
                @close=${() => forScreens.closeDialog()}
                @cancel=${() => forScreens.closeDialog()}
              >
                ${dialog()}
              </dialog>`
        }`,
    close: () => clearTimeout(saidTimer),
  }
}
