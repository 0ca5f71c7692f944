import { html, nothing, type TemplateResult } from 'lit-html'
import { toFailure } from '#libs/page-parts/load.ts'

/** Creates the form for the key. Its field has no name, so that no browser ever sends the key by itself. */
export function createSignIn(deps: {
  redraw: () => void
  /** Throws a Failure. */
  open: (apiKey: string) => Promise<void>
  reason: string | undefined
}): () => TemplateResult {
  const { redraw, open, reason } = deps
  let isBusy = false
  let message: string | undefined

  async function send(apiKey: string): Promise<void> {
    isBusy = true
    message = undefined
    redraw()
    try {
      await open(apiKey)
    } catch (error) {
      const failure = toFailure(error)
      message =
        failure.status === 401
          ? 'The gateway does not accept this key: it is wrong, disabled, revoked or expired.'
          : failure.message
    }
    isBusy = false
    redraw()
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    const field = document.getElementById('key')
    if (isBusy || !(field instanceof HTMLInputElement)) return
    const apiKey = field.value.trim()
    // Keys consist of printable ASCII, and a header can carry nothing else.
    if (/^[\x21-\x7e]+$/.test(apiKey)) void send(apiKey)
    else {
      message =
        apiKey === '' ? 'Type or paste a key first.' : 'This is no key: keys are letters, digits and signs.'
      redraw()
    }
  }

  return () =>
    html`<main class="sign-in">
      <h1>Your Millrace account</h1>
      ${reason === undefined ? nothing : html`<p role="status">${reason}</p>`}
      <form @submit=${submit} novalidate>
        <div class="field">
          <label for="key">API key</label>
          <input
            id="key"
            type="password"
            autocomplete="off"
            spellcheck="false"
            aria-invalid=${message === undefined ? nothing : 'true'}
            aria-describedby="key-help"
          />
          <p id="key-help" class="dim">
            It begins with <code>mr_live_</code> or <code>mr_manage_</code>. It stays in the memory of this
            tab, and is forgotten when you leave or reload the page.
          </p>
        </div>
        ${message === undefined ? nothing : html`<p class="notice bad" role="alert">${message}</p>`}
        <button type="submit" class="primary" ?disabled=${isBusy}>
          ${isBusy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
    </main>`
}
