import { html } from 'lit-html'
import type { Screen } from '#libs/page-parts/page-app.ts'

export function open(): Screen {
  return {
    title: 'Not found',
    view: () =>
      html`<h1>There is no such screen</h1>
        <p><a href="#/">The overview</a> shows what the key can spend.</p>`,
    close() {},
  }
}
