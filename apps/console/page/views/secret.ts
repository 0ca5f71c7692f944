import { html, type TemplateResult } from 'lit-html'
import type { App } from '../app.ts'
import { copy } from '../parts/id.ts'

/** A secret that was made just now. `path`: a read of the gateway that tries it. */
export function showSecret(app: App, secret: string, path: 'models' | 'keys'): TemplateResult {
  return html`<p>This is the only time that the secret is shown.</p>
    <p class="secret"><code id="secret">${secret}</code></p>
    <p><button type="button" @click=${() => void copy(secret, app.say)}>Copy the secret</button></p>
    <p>To try it, with the address of your gateway:</p>
    <pre class="scroll" tabindex="0">
curl "$OPENAI_BASE_URL/${path}" -H "authorization: Bearer ${secret}"</pre>`
}
