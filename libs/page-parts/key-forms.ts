import { html, type TemplateResult } from 'lit-html'
import type { KeyChange } from '#libs/account-contract/resources/keys.ts'
import { openForm, type Field, type Values } from './form.ts'
import { toChange, toTexts, type LimitTexts } from './key-limits.ts'
import type { ShownKey } from './key-table.ts'
import type { PageApp } from './page-app.ts'
import { showSecret } from './secret.ts'

/** A made key. `secret` is null if an earlier request, whose answer was lost, had already made the key. */
type Made = { readonly secret: string | null; readonly label: string }

/** The wanted limits. `texts` are the texts of the whole form. */
type Limits = { readonly change: KeyChange; readonly texts: LimitTexts }

/** The requests of a page to its server. Each throws a Failure. `values` are the values of `fields`. */
export type KeyRequests = {
  create(limits: Limits, asked: { values: Values; idempotencyKey: string }): Promise<Made>
  change(key: ShownKey, limits: Limits, values: Values): Promise<void>
  rotate(
    key: ShownKey,
    overlapSeconds: number,
    asked: { values: Values; idempotencyKey: string },
  ): Promise<Made>
  turn(key: ShownKey, isOn: boolean, values: Values): Promise<void>
  revoke(key: ShownKey, values: Values): Promise<void>
  /** True if a repeated `create` or `rotate` makes no second key. */
  readonly makesOnce: boolean
  /** Further fields of each form. */
  readonly fields: readonly Field[]
  readonly newKeyIntro: TemplateResult
  readonly revoking: { readonly verb: string; readonly done: string; readonly stays: string }
  /** The address of the API, quoted for a shell. */
  readonly base: string
}

export type KeyForms = Readonly<
  Record<'change' | 'rotate' | 'turn' | 'revoke', (key: ShownKey) => void> & {
    create: () => void
    revokeVerb: string
  }
>

/** Creates the forms that make and change keys. `changed` is called after each change. */
export function createKeyForms(app: PageApp, requests: KeyRequests, changed: () => void): KeyForms {
  const { fields, makesOnce, revoking, base } = requests
  const verb = revoking.verb.replace(/^./, (letter) => letter.toUpperCase())

  function showMade({ secret, label }: Made): TemplateResult {
    changed()
    if (secret !== null) return showSecret(secret, { base, say: app.say })
    return html`<p class="notice warn">
      The key had been made before, by a request whose answer was lost, and its secret with it:
      <code class="id">${label}</code>. ${verb} it, and make another one.
    </p>`
  }

  function say(text: string): undefined {
    app.say(text)
    changed()
  }

  return {
    revokeVerb: revoking.verb,

    create() {
      const before = toTexts()
      const idempotencyKey = crypto.randomUUID()
      openForm(app, {
        title: 'New key',
        intro: requests.newKeyIntro,
        fields: [...limitFields(before), ...fields],
        button: 'Create the key',
        mayRepeat: makesOnce,
        async run(values) {
          const texts = readTexts(values)
          const limits = { change: toChange(texts, before), texts }
          return showMade(await requests.create(limits, { values, idempotencyKey }))
        },
      })
    },

    change(key) {
      const before = toTexts(key)
      openForm(app, {
        title: 'Change key',
        fields: [...limitFields(before), ...fields],
        button: 'Change the key',
        // Repeating the change has no further effect.
        mayRepeat: true,
        async run(values) {
          const texts = readTexts(values)
          const change = toChange(texts, before)
          if (Object.keys(change).length === 0) return say('Nothing was to be changed.')
          await requests.change(key, { change, texts }, values)
          return say('The key is changed.')
        },
      })
    },

    rotate(key) {
      const idempotencyKey = crypto.randomUUID()
      openForm(app, {
        title: 'Rotate key',
        intro: html`<p>
          Makes a successor of ${nameOf(key)} with the same limits, of which it has spent nothing yet. Its
          secret is shown once.
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
          ...fields,
        ],
        button: 'Rotate the key',
        mayRepeat: makesOnce,
        async run(values) {
          const overlapSeconds = Number(values['overlap_seconds'] ?? '0')
          return showMade(await requests.rotate(key, overlapSeconds, { values, idempotencyKey }))
        },
      })
    },

    turn(key) {
      const isOff = key.status === 'disabled'
      openForm(app, {
        title: isOff ? 'Enable key' : 'Disable key',
        intro: html`<p>
          ${isOff ? 'The secret works again:' : 'The secret is refused until the key is enabled again:'}
          ${nameOf(key)}.
        </p>`,
        fields,
        button: isOff ? 'Enable the key' : 'Disable the key',
        mayRepeat: true,
        async run(values) {
          await requests.turn(key, isOff, values)
          return say(isOff ? 'The key is enabled.' : 'The key is disabled.')
        },
      })
    },

    revoke(key) {
      openForm(app, {
        title: `${verb} key`,
        intro: html`<p>
          Permanently: ${nameOf(key)} spends nothing from now on. ${revoking.stays} To change a secret without
          an interruption, rotate the key.
        </p>`,
        fields,
        confirm: { label: 'Type the last 4 characters of the secret', expected: key.label.slice(-4) },
        button: `${verb} the key`,
        isDangerous: true,
        mayRepeat: true,
        async run(values) {
          await requests.revoke(key, values)
          return say(`The key is ${revoking.done}.`)
        },
      })
    },
  }
}

function nameOf({ name, label }: ShownKey): TemplateResult {
  return html`${name === null ? '' : html`<bdi>${name}</bdi>, `}<code class="id">${label}</code>`
}

/** Returns the fields of a form. `param` is the name of a field in the errors of the operators' interface. */
function limitFields(texts: LimitTexts): readonly Field[] {
  return [
    { name: 'name', label: 'Name', value: texts.name },
    {
      name: 'limit',
      param: 'spendLimit.amountNano',
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
      param: 'requestsPerMinute',
      label: 'Requests a minute',
      kind: 'number',
      value: texts.requests_per_minute,
      help: 'Empty: no limit.',
    },
    {
      name: 'tokens_per_minute',
      param: 'tokensPerMinute',
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
      param: 'expiresAt',
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
