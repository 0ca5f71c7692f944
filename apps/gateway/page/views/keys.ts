import { html, nothing, type TemplateResult } from 'lit-html'
import { showList } from '#libs/page-parts/list.ts'
import { loadList, showFailure, showWaiting } from '#libs/page-parts/load.ts'
import { mark, type Meaning } from '#libs/page-parts/mark.ts'
import { credits } from '#libs/page-parts/money.ts'
import { short } from '#libs/page-parts/number.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { moment } from '#libs/page-parts/time.ts'
import type { AccountKey } from '#libs/account-contract/resources/keys.ts'
import type { OwnKey } from '#libs/account-contract/resources/own.ts'
import type { App, OpenScreen } from '../app.ts'
import { changeKey, createKey, revokeKey, rotateKey, switchKey } from './key-forms.ts'

const MEANINGS: Readonly<Record<AccountKey['status'], Meaning>> = {
  active: 'good',
  disabled: 'busy',
  expired: 'off',
  revoked: 'off',
}

const PERIODS = { daily: 'today', weekly: 'this week', monthly: 'this month' } as const

/** Which keys does the account have, what may each spend, and are they all still needed? */
export const open: OpenScreen = (app) => {
  const keys = loadList(app, async (cursor, signal) => {
    const { data, next_cursor: nextCursor } = await app.api.listKeys(cursor, signal)
    return { data, nextCursor }
  })
  const changed = () => keys.reload()

  function view(own: OwnKey): TemplateResult {
    return html`<p>
        The account has ${credits(own.nano.available)} credits available. A key spends the lesser of that and
        what is left of its own limit.
      </p>
      ${showList(keys, (rows) =>
        table({
          caption: 'The keys of the account, the newest first',
          columns: toColumns(app, own, changed),
          rows,
          key: ({ id }) => id,
          empty: 'The account has no key, so nothing can spend its credits.',
        }),
      )}`
  }

  return {
    title: 'Keys',
    close: () => keys.close(),
    view() {
      const { value: own, failure } = app.key
      const isManager = own?.is_management_key === true
      return html`<div class="head">
          <h1>Keys</h1>
          ${
            isManager
              ? html`<button type="button" class="primary" @click=${() => createKey(app, changed)}>
                  New key
                </button>`
              : nothing
          }
        </div>
        ${
          own === undefined
            ? failure === undefined
              ? showWaiting()
              : showFailure(failure, () => app.key.reload())
            : isManager
              ? view(own)
              : html`<p class="notice warn">
                  Only a management key lists and changes the keys of its account. An operator makes one; sign
                  in with it.
                </p>`
        }`
    },
  }
}

function toColumns(app: App, own: OwnKey, changed: () => void): readonly Column<AccountKey>[] {
  return [
    {
      name: 'Key',
      cell: ({ name }) => (name === null ? html`<span class="dim">no name</span>` : html`<bdi>${name}</bdi>`),
    },
    { name: 'Secret', from: 'medium', cell: ({ label }) => html`<code class="id">${label}</code>` },
    { name: 'State', cell: ({ status }) => mark(MEANINGS[status], status) },
    { name: 'Spent of limit', cell: showSpent },
    {
      name: 'It can spend',
      isNumber: true,
      cell: (key) =>
        key.status === 'active' ? credits(least(key.nano.limit_remaining, own.nano.available)) : '–',
    },
    { name: 'A minute', from: 'wide', cell: showMinute },
    { name: 'Last used', from: 'wide', cell: ({ last_used_at: at }) => moment(at) },
    { name: 'Actions', cell: (key) => showActions(app, key, changed) },
  ]
}

/** Not below nothing: an account may be in debt. */
function least(left: string | null, available: string): bigint {
  const [of, all] = [BigInt(left ?? available), BigInt(available)]
  const smaller = of < all ? of : all
  return smaller < 0n ? 0n : smaller
}

function showSpent({ nano, limit_reset: reset }: AccountKey): TemplateResult {
  const { limit, limit_remaining: left } = nano
  if (limit === null || left === null)
    return html`${credits(nano.usage)} <span class="dim">in all, no limit</span>`
  const spent = { daily: nano.usage_daily, weekly: nano.usage_weekly, monthly: nano.usage_monthly }
  return html`${credits(reset === null ? nano.usage : spent[reset])} of ${credits(limit)}
  ${reset === null ? 'in all' : PERIODS[reset]}`
}

function showMinute({ requests_per_minute: requests, tokens_per_minute: tokens }: AccountKey): string {
  const parts = [
    requests === null ? undefined : `${short(requests)} requests`,
    tokens === null ? undefined : `${short(tokens)} tokens`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? '–' : parts.join(', ')
}

function showActions(app: App, key: AccountKey, changed: () => void): TemplateResult {
  if (key.status === 'revoked') return html`<span class="dim">–</span>`
  const label = key.name ?? key.label
  const button = (text: string, run: (app: App, key: AccountKey, changed: () => void) => void, style = '') =>
    html`<button
      type="button"
      class="quiet ${style}"
      aria-label="${text} ${label}"
      @click=${() => run(app, key, changed)}
    >
      ${text}
    </button>`
  return html`<span class="actions">
    ${button('change', changeKey)}${button('rotate', rotateKey)}
    ${key.status === 'expired' ? nothing : button(key.disabled ? 'enable' : 'disable', switchKey)}
    ${button('delete', revokeKey, 'danger')}
  </span>`
}
