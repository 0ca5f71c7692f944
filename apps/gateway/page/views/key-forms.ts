import { html, type TemplateResult } from 'lit-html'
import { openForm, type Field, type Values } from '#libs/page-parts/form.ts'
import { showSecret } from '#libs/page-parts/secret.ts'
import type { AccountKey, NewKey } from '#libs/account-contract/resources/keys.ts'
import { toBaseAddress } from '../api.ts'
import type { App } from '../app.ts'
import { toChange, toTexts, type LimitTexts } from '../key-limits.ts'
import { quote } from '../snippets.ts'

/** Makes a key. A repeated request makes no second one: the idempotency key is made when the form opens. */
export function createKey(app: App, changed: () => void): void {
  const idempotencyKey = crypto.randomUUID()
  const before = toTexts()
  openForm(app, {
    title: 'New key',
    intro: html`<p>Its secret is shown once.</p>`,
    fields: toFields(before),
    button: 'Create the key',
    mayRepeat: true,
    async run(values) {
      const made = await app.api.createKey(toChange(readTexts(values), before), idempotencyKey)
      changed()
      return showMade(app, made)
    },
  })
}

export function changeKey(app: App, key: AccountKey, changed: () => void): void {
  const before = toTexts(key)
  openForm(app, {
    title: 'Change key',
    fields: toFields(before),
    button: 'Change the key',
    // The same change again changes nothing.
    mayRepeat: true,
    async run(values) {
      const change = toChange(readTexts(values), before)
      if (Object.keys(change).length > 0) await app.api.changeKey(key.id, change)
      app.say(Object.keys(change).length > 0 ? 'The key is changed.' : 'Nothing was to be changed.')
      changed()
      return undefined
    },
  })
}

export function rotateKey(app: App, key: AccountKey, changed: () => void): void {
  const idempotencyKey = crypto.randomUUID()
  openForm(app, {
    title: 'Rotate key',
    intro: html`<p>
      Makes a successor of ${nameOf(key)} with the same limits, of which it has spent nothing yet. Its secret
      is shown once.
    </p>`,
    fields: [
      {
        name: 'overlap_seconds',
        label: 'The old secret stays valid for',
        kind: 'choice',
        value: '86400',
        choices: [
          { value: '0', label: 'no time: it ends at once' },
          { value: '3600', label: 'an hour' },
          { value: '86400', label: 'a day' },
          { value: '604800', label: 'a week' },
        ],
      },
    ],
    button: 'Rotate the key',
    mayRepeat: true,
    async run({ overlap_seconds: overlap = '0' }) {
      const made = await app.api.rotateKey(key.id, Number(overlap), idempotencyKey)
      changed()
      return showMade(app, made)
    },
  })
}

export function switchKey(app: App, key: AccountKey, changed: () => void): void {
  openForm(app, {
    title: key.disabled ? 'Enable key' : 'Disable key',
    intro: html`<p>
      ${key.disabled ? 'The secret works again:' : 'The secret is refused until the key is enabled again:'}
      ${nameOf(key)}.
    </p>`,
    fields: [],
    button: key.disabled ? 'Enable the key' : 'Disable the key',
    mayRepeat: true,
    async run() {
      await app.api.changeKey(key.id, { disabled: !key.disabled })
      app.say(key.disabled ? 'The key is enabled.' : 'The key is disabled.')
      changed()
      return undefined
    },
  })
}

export function revokeKey(app: App, key: AccountKey, changed: () => void): void {
  openForm(app, {
    title: 'Delete key',
    intro: html`<p>
      Permanently: ${nameOf(key)} spends nothing from now on. Its requests and its usage stay. To change a
      secret without an interruption, rotate the key.
    </p>`,
    fields: [],
    confirm: { label: 'Type the last 4 characters of the secret', expected: key.label.slice(-4) },
    button: 'Delete the key',
    isDangerous: true,
    mayRepeat: true,
    async run() {
      await app.api.revokeKey(key.id)
      app.say('The key is deleted.')
      changed()
      return undefined
    },
  })
}

function nameOf({ name, label }: AccountKey): TemplateResult {
  return html`${name === null ? '' : html`<bdi>${name}</bdi>, `}<code class="id">${label}</code>`
}

function showMade(app: App, { key, replayed, data }: NewKey): TemplateResult {
  if (key === null || replayed) {
    return html`<p class="notice warn">
      The key had been made before, by a request whose answer was lost, and its secret with it:
      <code class="id">${data.label}</code>. Delete it, and make another one.
    </p>`
  }
  return showSecret(key, { base: quote(toBaseAddress(location.href)), say: app.say })
}

function toFields(texts: LimitTexts): readonly Field[] {
  return [
    { name: 'name', label: 'Name', value: texts.name },
    {
      name: 'limit',
      label: 'Spend limit in credits',
      kind: 'number',
      value: texts.limit,
      help: 'Empty: none but the credits of the account.',
    },
    {
      name: 'limit_reset',
      label: 'The limit begins anew',
      kind: 'choice',
      value: texts.limit_reset,
      choices: [
        { value: 'daily', label: 'each day, at midnight UTC' },
        { value: 'weekly', label: 'each Monday' },
        { value: 'monthly', label: 'each first of a month' },
        { value: 'never', label: 'never' },
      ],
    },
    {
      name: 'requests_per_minute',
      label: 'Requests a minute',
      kind: 'number',
      value: texts.requests_per_minute,
      help: 'Empty: no limit.',
    },
    {
      name: 'tokens_per_minute',
      label: 'Tokens a minute',
      kind: 'number',
      value: texts.tokens_per_minute,
      help: 'Empty: no limit.',
    },
    {
      name: 'models',
      label: 'Models',
      value: texts.models,
      help: 'Ids with commas between them. Empty: all.',
    },
    {
      name: 'expires_at',
      label: 'Valid until',
      kind: 'date',
      value: texts.expires_at,
      help: 'It ends at midnight UTC, when this day begins. Empty: never.',
    },
  ]
}

function readTexts(values: Values): LimitTexts {
  const text = (name: keyof LimitTexts) => values[name] ?? ''
  return {
    name: text('name'),
    limit: text('limit'),
    limit_reset: text('limit_reset'),
    requests_per_minute: text('requests_per_minute'),
    tokens_per_minute: text('tokens_per_minute'),
    models: text('models'),
    expires_at: text('expires_at'),
  }
}
