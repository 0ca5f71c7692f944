import { html, type TemplateResult } from 'lit-html'
import { shortId } from '#libs/page-parts/id.ts'
import { load } from '#libs/page-parts/load.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { read } from '../api.ts'
import type { App } from '../app.ts'

/**
 * The names of the newest accounts, at most this many, are read with one request instead of one request for each row.
 * Older accounts are shown by their id.
 */
const MOST = '500'

export type AccountNames = { link(accountId: string): TemplateResult; close(): void }

export function createAccountNames(app: Pick<App, 'redraw'>): AccountNames {
  const accounts = load(app, async (signal) => {
    const { data } = await read('/accounts', { limit: MOST }, signal)
    return new Map(data.map(({ id, name }) => [id, name]))
  })
  return {
    link(accountId) {
      const name = accounts.value?.get(accountId)
      return html`<a href=${toHash(['account', accountId])}
        >${name === undefined ? shortId(accountId) : html`<bdi>${name}</bdi>`}</a
      >`
    },
    close: accounts.close,
  }
}
