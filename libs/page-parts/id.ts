import { html, type TemplateResult } from 'lit-html'

const SHOWN = 8

/**
 * Shows an id. Of a long id only the first eight and the last four characters are shown. The title, and the text that
 * is copied, have the whole id.
 */
export function shortId(id: string): TemplateResult {
  // A UUIDv7 begins with its time, which ids made close together share, so the end is shown too.
  const text = id.length <= SHOWN + 2 ? id : `${id.slice(0, SHOWN)}…${id.slice(-4)}`
  return html`<code class="id" title=${id} data-copy=${id}>${text}</code>`
}

/** Shows a whole id with a button that copies it. */
export function wholeId(id: string, say: (text: string) => void): TemplateResult {
  return html`<code class="id">${id}</code>
    <button type="button" class="quiet" @click=${() => void copy(id, say)}>copy</button>`
}

export async function copy(text: string, say: (text: string) => void): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    say('Copied.')
  } catch {
    say('The browser did not allow the copy.')
  }
}

/** Copies the whole id or amount when the viewer copies its short form. */
export function copyWholes(event: ClipboardEvent): void {
  const selection = document.getSelection()
  const anchor = selection?.anchorNode?.parentElement?.closest('[data-copy]')
  const focus = selection?.focusNode?.parentElement?.closest('[data-copy]')
  if (!(anchor instanceof HTMLElement) || anchor !== focus) return
  event.clipboardData?.setData('text/plain', anchor.dataset['copy'] ?? '')
  event.preventDefault()
}
