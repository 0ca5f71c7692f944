import { html, type TemplateResult } from 'lit-html'
import { copy } from './id.ts'

/**
 * Shows the secret of a new key in the dialog that made the key, with a curl command that tries it. `base` is the API's
 * address, quoted for a shell. `path` is the path that the command reads.
 */
export function showSecret(
  secret: string,
  { base, path = 'models', say }: { base: string; path?: 'models' | 'keys'; say: (text: string) => void },
): TemplateResult {
  return html`<p>This is the only time that the secret is shown.</p>
    <p class="secret"><code id="secret">${secret}</code></p>
    <p><button type="button" @click=${() => void copy(secret, say)}>Copy the secret</button></p>
    <p>To try it:</p>
    <pre class="scroll" tabindex="0">curl ${base}/${path} -H "authorization: Bearer ${secret}"</pre>`
}
