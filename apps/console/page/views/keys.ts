import { html, nothing, type TemplateResult } from 'lit-html'
import { openForm, type Field, type Values } from '#libs/page-parts/form.ts'
import { mark, type Meaning } from '#libs/page-parts/mark.ts'
import { credits, exactCredits } from '#libs/page-parts/money.ts'
import { whole } from '#libs/page-parts/number.ts'
import { showSecret } from '#libs/page-parts/secret.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { moment } from '#libs/page-parts/time.ts'
import { change, type Answer, type Item } from '../api.ts'
import type { App } from '../app.ts'
import { may } from '../roles.ts'

type Account = Answer<'/accounts/{account}'>
type Key = Item<'/keys'>

const MEANINGS: Readonly<Record<Key['status'], Meaning>> = {
  active: 'good',
  disabled: 'busy',
  expired: 'off',
  revoked: 'off',
}

const PERIODS = { day: 'today', week: 'this week', month: 'this month', total: 'in all' } as const

const OVERLAPS = [
  { value: '0', label: 'none: the old secret ends at once' },
  { value: '3600', label: 'an hour' },
  { value: '86400', label: 'a day' },
  { value: '604800', label: 'a week' },
]

/** Keys with the limit of each beside the balance of their account: the lesser of both is what it can spend. */
export function keyTable(
  app: App,
  account: Account,
  { entries, changed }: { entries: readonly Key[]; changed: () => void },
): TemplateResult {
  const columns: Column<Key>[] = [
    {
      name: 'Key',
      cell: ({ name }) => (name === null ? html`<span class="dim">no name</span>` : html`<bdi>${name}</bdi>`),
    },
    {
      name: 'Secret',
      from: 'medium',
      cell: ({ prefix, last4 }) => html`<code class="id">${prefix}…${last4}</code>`,
    },
    { name: 'State', cell: ({ status }) => mark(MEANINGS[status], status) },
    { name: 'Spent of limit', cell: spent },
    {
      name: 'It can spend',
      isNumber: true,
      cell: ({ spending }) => credits(least(spending?.leftNano, account.availableNano)),
    },
    { name: 'A minute', from: 'wide', cell: minute },
    { name: 'Last used', from: 'wide', cell: ({ lastUsedAt }) => moment(lastUsedAt) },
  ]
  if (may(app, 'revokeKey')) columns.push({ name: 'Actions', cell: (key) => actions(app, key, changed) })
  return table({
    caption: 'Keys, the newest first',
    columns,
    rows: entries,
    key: ({ id }) => id,
    empty: 'This account has no key, so nothing can spend its credits.',
  })
}

function least(left: string | undefined, available: string): bigint {
  const [of, all] = [BigInt(left ?? available), BigInt(available)]
  const smaller = of < all ? of : all
  return smaller < 0n ? 0n : smaller
}

function spent({ spendLimit, spending }: Key): TemplateResult {
  if (spendLimit === null || spending === null) return html`<span class="dim">no limit</span>`
  return html`${credits(spending.spentNano)} of ${credits(spendLimit.amountNano)}
  ${PERIODS[spendLimit.period]}`
}

function minute({ requestsPerMinute, tokensPerMinute }: Key): string {
  const parts = [
    requestsPerMinute === null ? undefined : `${whole(requestsPerMinute)} requests`,
    tokensPerMinute === null ? undefined : `${whole(tokensPerMinute)} tokens`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? '–' : parts.join(', ')
}

function actions(app: App, key: Key, changed: () => void): TemplateResult {
  if (key.status === 'revoked') return html`<span class="dim">–</span>`
  const label = key.name ?? key.last4
  const button = (text: string, run: () => void, style = '') =>
    html`<button type="button" class="quiet ${style}" aria-label="${text} ${label}" @click=${run}>
      ${text}
    </button>`
  return html`<span class="actions">
    ${button('change', () => changeKey(app, key, changed))}
    ${button('rotate', () => rotateKey(app, key, changed))}
    ${
      key.status === 'disabled'
        ? button('enable', () => switchKey(app, key, changed))
        : key.status === 'active'
          ? button('disable', () => switchKey(app, key, changed))
          : nothing
    }
    ${button('revoke', () => revokeKey(app, key, changed), 'danger')}
  </span>`
}

function limitFields(key?: Key): readonly Field[] {
  return [
    { name: 'name', label: 'Name', value: key?.name ?? '' },
    {
      name: 'limit',
      label: 'Spend limit in credits',
      kind: 'number',
      value:
        key?.spendLimit === null || key === undefined
          ? ''
          : exactCredits(key.spendLimit.amountNano).replaceAll(',', ''),
      help: 'Empty: none but the balance.',
    },
    {
      name: 'period',
      label: 'The limit is for',
      kind: 'choice',
      value: key?.spendLimit?.period ?? 'month',
      choices: [
        { value: 'day', label: 'a day' },
        { value: 'week', label: 'a week, from Monday' },
        { value: 'month', label: 'a month' },
        { value: 'total', label: 'all time' },
      ],
    },
    {
      name: 'requestsPerMinute',
      label: 'Requests a minute',
      kind: 'number',
      value: key?.requestsPerMinute?.toString() ?? '',
      help: 'Empty: no limit.',
    },
    {
      name: 'tokensPerMinute',
      label: 'Tokens a minute',
      kind: 'number',
      value: key?.tokensPerMinute?.toString() ?? '',
      help: 'Empty: no limit.',
    },
    {
      name: 'models',
      label: 'Models',
      value: key?.models?.join(', ') ?? '',
      help: 'Ids with commas between them. Empty: all.',
    },
    { name: 'reason', label: 'Reason', help: 'For the readers of the log.' },
  ]
}

function toLimits(values: Values) {
  const {
    name = '',
    limit = '',
    period,
    requestsPerMinute = '',
    tokensPerMinute = '',
    models = '',
    reason = '',
  } = values
  const ids = models.split(/[\s,]+/).filter((id) => id !== '')
  return {
    name: name === '' ? null : name,
    spendLimit: limit === '' ? null : { amountNano: toNano(limit), period: toPeriod(period) },
    requestsPerMinute: toCount(requestsPerMinute),
    tokensPerMinute: toCount(tokensPerMinute),
    models: ids.length === 0 ? null : ids,
    ...(reason === '' ? {} : { reason }),
  }
}

/** Credits as nano-credits, exactly; anything else as it was typed, which billing refuses by name. */
function toNano(text: string): string {
  const [, units = '', fraction = ''] = /^(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  return units === '' ? text : String(BigInt(units + fraction.padEnd(9, '0')))
}

/** Billing refuses what is no whole number. */
function toCount(text: string): number | null {
  return text === '' ? null : Number(text)
}

function toPeriod(text: string | undefined): 'day' | 'week' | 'month' | 'total' {
  return text === 'day' || text === 'week' || text === 'total' ? text : 'month'
}

export function createKey(app: App, account: Account, changed: () => void): void {
  openForm(app, {
    title: 'New key',
    intro: html`<p>For <bdi>${account.name}</bdi>. Its secret is shown once.</p>`,
    fields: limitFields(),
    button: 'Create the key',
    mayRepeat: false,
    async run(values) {
      const made = await change('/accounts/{account}/keys', { account: account.id, ...toLimits(values) })
      changed()
      return showSecret(made.secret, { base: '"$OPENAI_BASE_URL"', say: app.say })
    },
  })
}

function changeKey(app: App, key: Key, changed: () => void): void {
  openForm(app, {
    title: 'Change key',
    fields: limitFields(key),
    button: 'Change the key',
    // The same change again changes nothing.
    mayRepeat: true,
    async run(values) {
      await change('/keys/{key}', { key: key.id, ...toLimits(values) }, { method: 'PATCH' })
      app.say('The key is changed.')
      changed()
      return undefined
    },
  })
}

function rotateKey(app: App, key: Key, changed: () => void): void {
  openForm(app, {
    title: 'Rotate key',
    intro: html`<p>Creates a successor with the same limits. Its secret is shown once.</p>`,
    fields: [
      {
        name: 'overlap',
        label: 'The old secret stays valid for',
        kind: 'choice',
        value: '86400',
        choices: OVERLAPS,
      },
      { name: 'reason', label: 'Reason' },
    ],
    button: 'Rotate the key',
    mayRepeat: false,
    async run({ overlap = '0', reason = '' }) {
      const input = { key: key.id, overlapSeconds: Number(overlap), ...(reason === '' ? {} : { reason }) }
      const made = await change('/keys/{key}/rotate', input)
      changed()
      return showSecret(made.secret, { base: '"$OPENAI_BASE_URL"', say: app.say })
    },
  })
}

function switchKey(app: App, key: Key, changed: () => void): void {
  const isOff = key.status === 'disabled'
  openForm(app, {
    title: isOff ? 'Enable key' : 'Disable key',
    intro: html`<p>
      ${isOff ? 'The secret works again.' : 'The secret is refused until the key is enabled again.'}
    </p>`,
    fields: [{ name: 'reason', label: 'Reason' }],
    button: isOff ? 'Enable the key' : 'Disable the key',
    mayRepeat: true,
    async run({ reason = '' }) {
      const input = { key: key.id, ...(reason === '' ? {} : { reason }) }
      if (isOff) await change('/keys/{key}/enable', input)
      else await change('/keys/{key}/disable', input)
      app.say(isOff ? 'The key is enabled.' : 'The key is disabled.')
      changed()
      return undefined
    },
  })
}

function revokeKey(app: App, key: Key, changed: () => void): void {
  openForm(app, {
    title: 'Revoke key',
    intro: html`<p>
      Permanently: <code class="id">${key.prefix}…${key.last4}</code> spends nothing from now on. To change a
      secret without an interruption, rotate the key.
    </p>`,
    fields: [{ name: 'reason', label: 'Reason' }],
    confirm: { label: 'Type the last 4 characters of the secret', expected: key.last4 },
    button: 'Revoke the key',
    isDangerous: true,
    mayRepeat: true,
    async run({ reason = '' }) {
      await change('/keys/{key}/revoke', { key: key.id, ...(reason === '' ? {} : { reason }) })
      app.say('The key is revoked.')
      changed()
      return undefined
    },
  })
}
