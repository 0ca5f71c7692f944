import { html } from 'lit-html'
import { shortId } from '#libs/page-parts/id.ts'
import { showList } from '#libs/page-parts/list.ts'
import { loadList } from '#libs/page-parts/load.ts'
import { credits } from '#libs/page-parts/money.ts'
import { whole } from '#libs/page-parts/number.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { duration, moment } from '#libs/page-parts/time.ts'
import type { Receipt } from '#libs/account-contract/resources/generations.ts'
import type { OpenScreen } from '../app.ts'
import { showReceiptState } from './request.ts'

const COLUMNS: readonly Column<Receipt>[] = [
  {
    name: 'Began (UTC)',
    cell: ({ id, created_at: at }) => html`<a href=${toHash(['request', id])}>${moment(at)}</a>`,
  },
  { name: 'Model', cell: ({ model }) => html`<bdi>${model}</bdi>` },
  { name: 'State', cell: showReceiptState },
  { name: 'Waited', isNumber: true, from: 'medium', cell: ({ waited_ms: ms }) => duration(ms) },
  { name: 'Took', isNumber: true, from: 'medium', cell: (receipt) => duration(tookMs(receipt)) },
  { name: 'Input', isNumber: true, from: 'medium', cell: ({ tokens_prompt: tokens }) => count(tokens) },
  { name: 'Output', isNumber: true, from: 'medium', cell: ({ tokens_completion: tokens }) => count(tokens) },
  {
    name: 'Charged',
    isNumber: true,
    cell: ({ nano }) => (nano.total_cost === null ? '–' : credits(nano.total_cost)),
  },
  { name: 'Request', from: 'wide', cell: ({ id }) => shortId(id) },
]

/** The screen that lists the latest requests of the key, with the charge of each. */
export const open: OpenScreen = (app) => {
  const receipts = loadList(app, app.api.listReceipts)
  return {
    title: 'Requests',
    close: () => receipts.close(),
    view: () =>
      html`<div class="head">
          <h1>Requests</h1>
          <button type="button" ?disabled=${receipts.isLoading} @click=${() => receipts.reload()}>
            ${receipts.isLoading ? 'Loading …' : 'Load anew'}
          </button>
        </div>
        <form class="find" role="search" @submit=${find} novalidate>
          <label for="find">Receipt of</label>
          <input
            id="find"
            autocomplete="off"
            spellcheck="false"
            placeholder="chatcmpl-…, resp_… or x-request-id"
          />
          <button type="submit">Show</button>
        </form>
        ${showList(receipts, (rows) =>
          table({
            caption: 'Requests: those that run, then the settled ones, the newest first',
            columns: COLUMNS,
            rows,
            key: ({ id }) => id,
            empty: html`No request has been made yet. <a href="#/use">How to use the API</a>`,
          }),
        )}`,
  }
}

/** Returns the time from the queue to the end. */
function tookMs({ latency, generation_time: ranMs }: Receipt): number | null {
  return latency === null || ranMs === null ? null : latency + ranMs
}

const count = (tokens: number | null) => (tokens === null ? '–' : whole(tokens))

function find(event: SubmitEvent): void {
  event.preventDefault()
  const field = document.getElementById('find')
  if (!(field instanceof HTMLInputElement)) return
  const id = field.value.trim()
  // The address stays in the browser's history, so no key may be in it.
  const isId = /^(?:[a-z]+[-_])?[0-9a-f-]{36}$/i.test(id)
  field.setCustomValidity(isId ? '' : 'This is no id of a request.')
  field.reportValidity()
  if (isId) location.hash = toHash(['request', id])
}
