import { html, nothing, type TemplateResult } from 'lit-html'
import { copy } from '#libs/page-parts/id.ts'
import { load, showLoaded } from '#libs/page-parts/load.ts'
import { toBaseAddress } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { toSnippets } from '../snippets.ts'

/**
 * The screen with the first lines of code for each kind of client. The code has the address under which this page was
 * reached.
 */
export const open: OpenScreen = (app) => {
  const models = load(app, async (signal) => await app.api.listModels(signal))
  const base = toBaseAddress(location.href)
  let chosen: string | undefined

  function choose(event: Event): void {
    if (event.target instanceof HTMLSelectElement) chosen = event.target.value
    app.redraw()
  }

  function show(ids: readonly string[]): TemplateResult {
    const [first] = ids
    if (first === undefined) {
      return html`<p class="empty">This key may use no model of the catalog, so there is nothing to call.</p>`
    }
    const model = chosen ?? first
    return html`<div class="field model">
        <label for="model">Model</label>
        <select id="model" @change=${choose}>
          ${ids.map((id) => html`<option value=${id} ?selected=${id === model}>${id}</option>`)}
        </select>
      </div>
      ${toSnippets(base, model).map((snippet) => showSnippet(app, snippet))}`
  }

  return {
    title: 'Use it',
    close: () => models.close(),
    view: () =>
      html`<h1>Use it</h1>
        <p>The address of the API is <code class="id">${base}</code>.</p>
        ${
          app.key.value?.is_management_key === true
            ? html`<p class="notice warn">
                This is a management key, which spends nothing: put one of
                <a href="#/keys">the account’s keys</a> in place of the dots.
              </p>`
            : nothing
        }
        ${showLoaded(models, show)}`,
  }
}

function showSnippet(
  app: App,
  { name, about, text }: { name: string; about: string; text: string },
): TemplateResult {
  return html`<section>
    <div class="head">
      <h2>${name}</h2>
      <button type="button" class="quiet" aria-label="copy ${name}" @click=${() => void copy(text, app.say)}>
        copy
      </button>
    </div>
    ${about === '' ? nothing : html`<p class="dim">${about}</p>`}
    <pre role="region" aria-label=${name} tabindex="0">${text}</pre>
  </section>`
}
