import { html } from 'lit-html'
import { onFilter } from '#libs/page-parts/filters.ts'
import { openForm } from '#libs/page-parts/form.ts'
import { shortId } from '#libs/page-parts/id.ts'
import { showList } from '#libs/page-parts/list.ts'
import { loadList } from '#libs/page-parts/load.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { credits } from '#libs/page-parts/money.ts'
import { whole } from '#libs/page-parts/number.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { moment } from '#libs/page-parts/time.ts'
import { change, read, type Item } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { may } from '../roles.ts'

type Account = Item<'/accounts'>

const COLUMNS: readonly Column<Account>[] = [
  {
    name: 'Account',
    cell: ({ id, name }) => html`<a href=${toHash(['account', id])}><bdi>${name}</bdi></a>`,
  },
  {
    name: 'State',
    cell: ({ status }) => (status === 'active' ? mark('good', 'active') : mark('off', 'closed')),
  },
  { name: 'Available', isNumber: true, cell: ({ availableNano }) => credits(availableNano) },
  { name: 'Posted', isNumber: true, from: 'medium', cell: ({ postedNano }) => credits(postedNano) },
  { name: 'Held', isNumber: true, from: 'medium', cell: ({ heldNano }) => credits(heldNano) },
  { name: 'Holds', isNumber: true, from: 'wide', cell: ({ openHolds }) => whole(openHolds) },
  { name: 'Created', from: 'wide', cell: ({ createdAt }) => moment(createdAt) },
  { name: 'Id', from: 'wide', cell: ({ id }) => shortId(id) },
]

/** The list of all accounts with their balances, with a search by a part of the name. */
export const open: OpenScreen = (app, { query }) => {
  const name = query.get('name') ?? ''
  const status =
    query.get('status') === 'closed' ? 'closed' : query.get('status') === 'active' ? 'active' : ''
  const list = loadList(app, async (cursor, signal) =>
    read('/accounts', { limit: '50', name: name || undefined, status: status || undefined, cursor }, signal),
  )

  const filter = onFilter(['accounts'])

  return {
    title: 'Accounts',
    close: () => list.close(),
    view: () =>
      html`<div class="head">
          <h1>Accounts</h1>
          ${
            may(app, 'createAccount')
              ? html`<button type="button" class="primary" @click=${() => createAccount(app)}>
                  New account
                </button>`
              : ''
          }
        </div>
        <form class="filters" @submit=${filter}>
          <label>Name <input name="name" type="search" .value=${name} autocomplete="off" /></label>
          <label
            >State
            <select name="status">
              ${['', 'active', 'closed'].map(
                (value) =>
                  html`<option value=${value} ?selected=${value === status}>
                    ${value === '' ? 'any' : value}
                  </option>`,
              )}
            </select></label
          >
          <button type="submit">Filter</button>
        </form>
        ${showList(list, (accounts) =>
          table({
            caption: 'Accounts, the newest first',
            columns: COLUMNS,
            rows: accounts,
            key: ({ id }) => id,
            empty:
              name === '' && status === ''
                ? html`There is no account yet. <a href="#/first-steps">First steps</a>`
                : 'No account matches.',
          }),
        )}`,
  }
}

function createAccount(app: App): void {
  openForm(app, {
    title: 'New account',
    fields: [
      { name: 'name', label: 'Name', isRequired: true },
      { name: 'reason', label: 'Reason', help: 'For the readers of the log.' },
    ],
    button: 'Create the account',
    mayRepeat: false,
    async run({ name = '', reason = '' }) {
      const { id } = await change('/accounts', { name, ...(reason === '' ? {} : { reason }) })
      app.say('The account is created.')
      location.hash = toHash(['account', id])
      return undefined
    },
  })
}
