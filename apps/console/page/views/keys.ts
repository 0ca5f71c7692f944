import { html } from 'lit-html'
import { createKeyForms, type KeyForms, type KeyRequests } from '#libs/page-parts/key-forms.ts'
import { toReset, type LimitTexts } from '#libs/page-parts/key-limits.ts'
import type { ShownKey } from '#libs/page-parts/key-table.ts'
import type { KeyChange } from '#libs/account-contract/resources/keys.ts'
import { RESETS, toPeriod } from '#libs/account-contract/spend-period.ts'
import { parseCredits } from '#libs/money/nano-credits.ts'
import type { Values } from '#libs/page-parts/form.ts'
import { change, type Answer, type Item } from '../api.ts'
import type { App } from '../app.ts'

type Account = Answer<'/accounts/{account}'>
type Key = Item<'/keys'>

/** Converts a key of billing to the names of the accounts' interface. */
export function toShownKey(key: Key): ShownKey {
  const { spendLimit, spending } = key
  return {
    id: key.id,
    label: `${key.prefix}…${key.last4}`,
    name: key.name,
    status: key.status,
    limit_reset: spendLimit === null ? null : RESETS[spendLimit.period],
    expires_at: key.expiresAt,
    models: key.models,
    requests_per_minute: key.requestsPerMinute,
    tokens_per_minute: key.tokensPerMinute,
    last_used_at: key.lastUsedAt,
    nano: {
      limit: spendLimit?.amountNano ?? null,
      limit_remaining: spending?.leftNano ?? null,
      spent: spending?.spentNano ?? null,
    },
  }
}

/** Creates the forms with which an operator creates and changes keys of `account`. */
export function keyForms(app: App, account: Account, changed: () => void): KeyForms {
  const requests: KeyRequests = {
    async create(limits, { values }) {
      const input = { account: account.id, ...toLimits(limits.change, limits.texts), ...toReason(values) }
      const made = await change('/accounts/{account}/keys', input)
      return { secret: made.secret, label: toShownKey(made).label }
    },
    async change({ id }, limits, values) {
      const input = { key: id, ...toLimits(limits.change, limits.texts), ...toReason(values) }
      await change('/keys/{key}', input, { method: 'PATCH' })
    },
    async rotate({ id }, overlapSeconds, { values }) {
      const made = await change('/keys/{key}/rotate', { key: id, overlapSeconds, ...toReason(values) })
      return { secret: made.secret, label: toShownKey(made).label }
    },
    async turn({ id }, isOn, values) {
      const input = { key: id, ...toReason(values) }
      if (isOn) await change('/keys/{key}/enable', input)
      else await change('/keys/{key}/disable', input)
    },
    async revoke({ id }, values) {
      await change('/keys/{key}/revoke', { key: id, ...toReason(values) })
    },
    makesOnce: false,
    fields: [{ name: 'reason', label: 'Reason', help: 'For the readers of the log.' }],
    newKeyIntro: html`<p>For <bdi>${account.name}</bdi>. Its secret is shown once.</p>`,
    revoking: { verb: 'revoke', done: 'revoked', stays: '' },
    base: '"$OPENAI_BASE_URL"',
  }
  return createKeyForms(app, requests, changed)
}

const toReason = ({ reason = '' }: Values) => (reason === '' ? {} : { reason })

/** Converts a change to the names of billing's interface, where a limit's amount and period are one field. */
function toLimits(given: KeyChange, texts: LimitTexts) {
  const { name, expires_at: expiresAt, models } = given
  const { requests_per_minute: requestsPerMinute, tokens_per_minute: tokensPerMinute } = given
  const isLimited = given.limit !== undefined || given.limit_reset !== undefined
  return {
    name,
    expiresAt,
    models,
    requestsPerMinute,
    tokensPerMinute,
    ...(isLimited && toSpendLimit(texts)),
  }
}

function toSpendLimit({ limit, limit_reset: reset }: LimitTexts) {
  if (limit === '') return { spendLimit: null }
  return { spendLimit: { amountNano: String(parseCredits(limit)), period: toPeriod(toReset(reset)) } }
}
