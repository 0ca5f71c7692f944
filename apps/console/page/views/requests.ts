import { html, nothing, type TemplateResult } from 'lit-html'
import type { EndedRequest } from '#libs/live-view/rows.ts'
import type { RequestsView } from '#libs/live-view/views.ts'
import { onFilter } from '#libs/page-parts/filters.ts'
import { showList } from '#libs/page-parts/list.ts'
import { loadList } from '#libs/page-parts/load.ts'
import { mark, type Meaning } from '#libs/page-parts/mark.ts'
import { credits } from '#libs/page-parts/money.ts'
import { short } from '#libs/page-parts/number.ts'
import { table } from '#libs/page-parts/table.ts'
import { duration, moment } from '#libs/page-parts/time.ts'
import { read, type Item } from '../api.ts'
import type { OpenScreen } from '../app.ts'
import { followLive } from '../live.ts'
import { createAccountNames, type AccountNames } from '../parts/account-names.ts'
import { modelLink, requestLink } from '../parts/links.ts'
import { asOf, liveSection } from '../parts/live-section.ts'
import { openTable } from './model.ts'

type Settled = Item<'/requests'>

const SHOWN = 100
const OUTCOMES = ['completed', 'cancelled', 'fault', 'never-ran'] as const

const MEANINGS: Readonly<Record<Settled['outcome'] | 'failed', Meaning>> = {
  completed: 'good',
  cancelled: 'off',
  fault: 'bad',
  failed: 'bad',
  'never-ran': 'warn',
}

/** The screen of requests. The tail shows what gateways report now; the history shows what billing has settled. */
export const open: OpenScreen = (app, { query }) => {
  const wanted = {
    account: query.get('account') ?? '',
    key: query.get('key') ?? '',
    model: query.get('model') ?? '',
    outcome: OUTCOMES.find((outcome) => outcome === query.get('outcome')),
  }
  const accounts = createAccountNames(app)
  const live = followLive<RequestsView>(app, 'requests')
  const { account, key, model, outcome } = wanted
  const history = loadList(app, async (cursor, signal) =>
    read(
      '/requests',
      {
        limit: '50',
        account: account || undefined,
        key: key || undefined,
        model: model || undefined,
        outcome,
        cursor,
      },
      signal,
    ),
  )
  const filter = onFilter(['requests'])

  return {
    title: 'Requests',
    close() {
      live.close()
      history.close()
      accounts.close()
    },
    view: () =>
      html`<div class="head">
          <h1>Requests</h1>
          ${asOf(live)}
        </div>
        <form class="filters" @submit=${filter}>
          <label>Account id <input name="account" .value=${account} autocomplete="off" /></label>
          <label>Model <input name="model" .value=${model} autocomplete="off" /></label>
          <label
            >Outcome
            <select name="outcome">
              <option value="">any</option>
              ${OUTCOMES.map((each) => html`<option value=${each} ?selected=${each === outcome}>${each}</option>`)}
            </select></label
          >
          ${key === '' ? nothing : html`<input type="hidden" name="key" .value=${key} />`}
          <button type="submit">Filter</button>
        </form>
        ${liveSection(live, (view) => {
          const ended = view.ended.filter(
            (row) => (account === '' || row.accountId === account) && (model === '' || row.model === model),
          )
          return html`<section>
              <h2>Refused and failed, now</h2>
              ${failures(
                ended.filter(({ kind }) => kind === 'failed'),
                accounts,
              )}
            </section>
            <section>
              <h2>Slowest and a sample of the others</h2>
              ${tail(
                ended.filter(({ kind }) => kind !== 'failed'),
                accounts,
              )}
            </section>
            <section>
              <h2>Open longest</h2>
              ${openTable(view.open, accounts)}
            </section>`
        })}
        <section>
          <h2>Settled</h2>
          ${showList(history, (rows) => settled(rows, accounts))}
        </section>`,
  }
}

function failures(rows: readonly EndedRequest[], accounts: AccountNames): TemplateResult {
  return table<EndedRequest>({
    caption: 'Refusals and failures, the newest first',
    rows: rows.slice(0, SHOWN),
    key: ({ id, endedAt }) => `${id} ${endedAt}`,
    empty: 'Nothing was refused or failed.',
    columns: [
      { name: 'Code', cell: ({ code }) => mark('bad', code ?? 'unknown') },
      { name: 'Account', cell: ({ accountId }) => accounts.link(accountId) },
      { name: 'Model', cell: ({ model }) => modelLink(model) },
      { name: 'Requests', isNumber: true, cell: ({ weight }) => short(weight) },
      { name: 'Last', from: 'medium', cell: ({ endedAt }) => moment(endedAt) },
      { name: 'Such as', from: 'medium', cell: ({ id }) => requestLink(id) },
    ],
  })
}

function tail(rows: readonly EndedRequest[], accounts: AccountNames): TemplateResult {
  return table<EndedRequest>({
    caption: 'Ended requests, the newest first',
    rows: rows.slice(0, SHOWN),
    key: ({ id }) => id,
    empty: 'No request has ended since you opened this screen.',
    columns: [
      { name: 'Request', cell: ({ id }) => requestLink(id) },
      { name: 'Outcome', cell: ({ outcome }) => mark(MEANINGS[outcome], outcome) },
      { name: 'Account', cell: ({ accountId }) => accounts.link(accountId) },
      { name: 'Model', from: 'medium', cell: ({ model }) => model },
      {
        name: 'Kind',
        from: 'wide',
        cell: ({ kind, weight }) => (kind === 'slow' ? 'slow' : `sample of ${short(weight)}`),
      },
      { name: 'Waited', isNumber: true, from: 'medium', cell: ({ waitedMs }) => duration(waitedMs) },
      {
        name: 'First token',
        isNumber: true,
        from: 'wide',
        cell: ({ firstTokenMs }) => duration(firstTokenMs),
      },
      { name: 'In all', isNumber: true, cell: ({ totalMs }) => duration(totalMs) },
      {
        name: 'Output',
        isNumber: true,
        from: 'medium',
        cell: ({ completionTokens }) => (completionTokens === null ? '–' : short(completionTokens)),
      },
      { name: 'Ended', from: 'wide', cell: ({ endedAt }) => moment(endedAt) },
    ],
  })
}

function settled(rows: readonly Settled[], accounts: AccountNames): TemplateResult {
  return table<Settled>({
    caption: 'Settled requests, the latest first',
    rows,
    key: ({ id }) => id,
    empty: 'No settled request was found in this part of the history.',
    columns: [
      { name: 'Request', cell: ({ id }) => requestLink(id) },
      { name: 'Outcome', cell: ({ outcome }) => mark(MEANINGS[outcome], outcome) },
      { name: 'Account', cell: ({ accountId }) => accounts.link(accountId) },
      { name: 'Model', from: 'medium', cell: ({ model }) => model },
      {
        name: 'Waited',
        isNumber: true,
        from: 'medium',
        cell: ({ timing }) => duration(timing?.waitedMs ?? null),
      },
      { name: 'Ran', isNumber: true, from: 'medium', cell: ({ timing }) => duration(timing?.ranMs ?? null) },
      { name: 'Input', isNumber: true, from: 'wide', cell: ({ promptTokens }) => short(promptTokens) },
      {
        name: 'Output',
        isNumber: true,
        from: 'wide',
        cell: ({ completionTokens }) => short(completionTokens),
      },
      { name: 'Charged', isNumber: true, cell: ({ chargedNano }) => credits(chargedNano) },
      { name: 'Settled', from: 'wide', cell: ({ settledAt }) => moment(settledAt) },
    ],
  })
}
