import { html, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { openForm } from '#libs/page-parts/form.ts'
import { mark, type Meaning } from '#libs/page-parts/mark.ts'
import { showSecret } from '#libs/page-parts/secret.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { DAY_MS, moment } from '#libs/page-parts/time.ts'
import { change, type Answer, type Item } from '../api.ts'
import type { App } from '../app.ts'
import { may } from '../roles.ts'

type Account = Answer<'/accounts/{account}'>
type ManagementKey = Item<'/management-keys'>

const MEANINGS: Readonly<Record<ManagementKey['status'], Meaning>> = {
  active: 'good',
  expired: 'off',
  revoked: 'off',
}

const LIVES = [
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
  { value: '', label: 'until it is revoked' },
]

/** Lists an account's management keys, with which the account manages its own keys. */
export function managementKeyTable(
  app: App,
  { entries, changed }: { entries: readonly ManagementKey[]; changed: () => void },
): TemplateResult {
  const columns: Column<ManagementKey>[] = [
    { name: 'Management key', cell: ({ name }) => html`<bdi>${name}</bdi>` },
    {
      name: 'Secret',
      from: 'medium',
      cell: ({ prefix, last4 }) => html`<code class="id">${prefix}…${last4}</code>`,
    },
    { name: 'State', cell: ({ status }) => mark(MEANINGS[status], status) },
    { name: 'Expires', from: 'medium', cell: ({ expiresAt }) => moment(expiresAt) },
    { name: 'Last used', from: 'wide', cell: ({ lastUsedAt }) => moment(lastUsedAt) },
  ]
  if (may(app, 'revokeManagementKey')) {
    columns.push({
      name: 'Actions',
      cell: (key) =>
        key.status === 'revoked'
          ? html`<span class="dim">–</span>`
          : html`<span class="actions"
              ><button
                type="button"
                class="quiet danger"
                aria-label="revoke ${key.name}"
                @click=${() => revokeManagementKey(app, key, changed)}
              >
                revoke
              </button></span
            >`,
    })
  }
  return table({
    caption: 'Management keys, the newest first',
    columns,
    rows: entries,
    key: ({ id }) => id,
    empty: 'None: the keys of this account are made here alone.',
  })
}

export function createManagementKey(app: App, account: Account, changed: () => void): void {
  openForm(app, {
    title: 'New management key',
    intro: html`<p>
      With it <bdi>${account.name}</bdi> makes, changes and revokes its keys itself, and every limit of them.
      It can never spend. Its secret is shown once.
    </p>`,
    fields: [
      { name: 'name', label: 'Name', isRequired: true, help: 'Of the person or the tool that has it.' },
      { name: 'days', label: 'It is valid for', kind: 'choice', value: '365', choices: LIVES },
      { name: 'reason', label: 'Reason', help: 'For the readers of the log.' },
    ],
    button: 'Create the management key',
    mayRepeat: false,
    async run({ name = '', days = '', reason = '' }) {
      const made = await change('/accounts/{account}/management-keys', {
        account: account.id,
        name,
        expiresAt: days === '' ? null : new Date(wallClockMs() + Number(days) * DAY_MS).toISOString(),
        ...(reason === '' ? {} : { reason }),
      })
      changed()
      return showSecret(made.secret, { base: '"$OPENAI_BASE_URL"', path: 'keys', say: app.say })
    },
  })
}

function revokeManagementKey(app: App, key: ManagementKey, changed: () => void): void {
  openForm(app, {
    title: 'Revoke management key',
    intro: html`<p>
      Permanently and at once. The keys that <code class="id">${key.prefix}…${key.last4}</code> made stay.
    </p>`,
    fields: [{ name: 'reason', label: 'Reason' }],
    confirm: { label: 'Type the last 4 characters of the secret', expected: key.last4 },
    button: 'Revoke the management key',
    isDangerous: true,
    mayRepeat: true,
    async run({ reason = '' }) {
      const input = { managementKey: key.id, ...(reason === '' ? {} : { reason }) }
      await change('/management-keys/{managementKey}/revoke', input)
      app.say('The management key is revoked.')
      changed()
      return undefined
    },
  })
}
