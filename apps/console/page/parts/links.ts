import { html, type TemplateResult } from 'lit-html'
import { shortId } from '#libs/page-parts/id.ts'
import { toHash } from '#libs/page-parts/route.ts'

/** The link to a request's own screen. */
export function requestLink(id: string): TemplateResult {
  return html`<a href=${toHash(['request', id])}>${shortId(id)}</a>`
}

/** The link to a model's own screen. */
export function modelLink(id: string): TemplateResult {
  return html`<a href=${toHash(['model', id])}>${id}</a>`
}
