import { html, nothing, type TemplateResult } from 'lit-html'
import type { AccountKey } from '#libs/account-contract/resources/keys.ts'
import type { OwnKey } from '#libs/account-contract/resources/own.ts'
import { createKeyForms, type KeyRequests } from '#libs/page-parts/key-forms.ts'
import { keyTable, type ShownKey } from '#libs/page-parts/key-table.ts'
import { showList } from '#libs/page-parts/list.ts'
import { loadList, showFailure, showWaiting } from '#libs/page-parts/load.ts'
import { credits } from '#libs/page-parts/money.ts'
import { toBaseAddress, type Api } from '../api.ts'
import type { OpenScreen } from '../app.ts'
import { quote } from '../snippets.ts'

/** The screen that lists the keys of the account, with the limits and the use of each. */
export const open: OpenScreen = (app) => {
  const keys = loadList(app, app.api.listKeys)
  const forms = createKeyForms(app, toRequests(app.api), () => keys.reload())

  function view(own: OwnKey): TemplateResult {
    return html`<p>
        The account has ${credits(own.nano.available)} credits available. A key spends the lesser of that and
        what is left of its own limit.
      </p>
      ${showList(keys, (entries) =>
        keyTable({
          caption: 'The keys of the account, the newest first',
          keys: entries.map(toShownKey),
          availableNano: own.nano.available,
          forms,
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
              ? html`<button type="button" class="primary" @click=${forms.create}>New key</button>`
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

function toShownKey(key: AccountKey): ShownKey {
  const { nano, limit_reset: reset } = key
  const spent = { daily: nano.usage_daily, weekly: nano.usage_weekly, monthly: nano.usage_monthly }
  return { ...key, nano: { ...nano, spent: reset === null ? nano.usage : spent[reset] } }
}

/** The idempotency key is made when the form opens, so a repeated request makes no second key. */
function toRequests(api: Api): KeyRequests {
  return {
    async create({ change }, { idempotencyKey }) {
      const { key: secret, data } = await api.createKey(change, idempotencyKey)
      return { secret, label: data.label }
    },
    change: async ({ id }, { change }) => await api.changeKey(id, change),
    async rotate({ id }, overlapSeconds, { idempotencyKey }) {
      const { key: secret, data } = await api.rotateKey(id, overlapSeconds, idempotencyKey)
      return { secret, label: data.label }
    },
    turn: async ({ id }, isOn) => await api.changeKey(id, { disabled: !isOn }),
    revoke: async ({ id }) => await api.revokeKey(id),
    makesOnce: true,
    fields: [],
    newKeyIntro: html`<p>Its secret is shown once.</p>`,
    revoking: { verb: 'delete', done: 'deleted', stays: 'Its requests and its usage stay.' },
    base: quote(toBaseAddress(location.href)),
  }
}
