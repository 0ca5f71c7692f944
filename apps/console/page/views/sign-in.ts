import { html, nothing, type TemplateResult } from 'lit-html'
import { toFailure } from '#libs/page-parts/load.ts'
import { signIn } from '../api.ts'

/**
 * Returns the ticket of a link that `millrace console` printed, and removes it from the address, so that the browser's
 * history does not keep it.
 */
export function takeTicket(): string | undefined {
  const ticket = /^#ticket=([\w-]+)$/.exec(location.hash)?.[1]
  if (ticket !== undefined) history.replaceState(null, '', '#/')
  return ticket
}

/** The form into which a credential's token is pasted. If there is a ticket, it is sent at once. */
export function createSignIn(deps: {
  redraw: () => void
  onSignedIn: () => void
  ticket?: string
  reason?: string | undefined
}): () => TemplateResult {
  const { redraw, onSignedIn, ticket, reason } = deps
  let isBusy = false
  let message: string | undefined

  async function send(given: { token: string } | { ticket: string }): Promise<void> {
    isBusy = true
    message = undefined
    redraw()
    try {
      await signIn(given)
      onSignedIn()
    } catch (error) {
      const failure = toFailure(error)
      message =
        failure.status === 401
          ? 'ticket' in given
            ? 'This link has been used, or is older than a minute. Ask for another one, or paste a token.'
            : 'This token is wrong or revoked.'
          : failure.message
    }
    isBusy = false
    redraw()
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    if (isBusy || !(event.target instanceof HTMLFormElement)) return
    const token = new FormData(event.target).get('token')
    if (typeof token === 'string' && token.trim() !== '') void send({ token: token.trim() })
  }

  if (ticket !== undefined) void send({ ticket })
  return () =>
    html`<main class="sign-in">
      <h1>Millrace console</h1>
      ${reason === undefined ? nothing : html`<p>${reason}</p>`}
      <form @submit=${submit}>
        <div class="field">
          <label for="token">Token of your credential</label>
          <input
            id="token"
            name="token"
            type="password"
            autocomplete="current-password"
            aria-invalid=${message === undefined ? nothing : 'true'}
            aria-describedby="token-help"
            required
          />
          <p id="token-help" class="dim">
            It begins with <code>mr_admin_</code>. On the machine of the cluster,
            <code>npx millrace console</code> prints a link that needs none.
          </p>
        </div>
        ${message === undefined ? nothing : html`<p class="notice bad" role="alert">${message}</p>`}
        <button type="submit" class="primary" ?disabled=${isBusy}>
          ${isBusy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
    </main>`
}
