import { html, nothing, type TemplateResult } from 'lit-html'
import type { AccountKey } from '#libs/account-contract/resources/keys.ts'
import type { KeyForms } from './key-forms.ts'
import { mark, type Meaning } from './mark.ts'
import { credits } from './money.ts'
import { short } from './number.ts'
import { table, type Column } from './table.ts'
import { moment } from './time.ts'

/** A key as both pages show it. */
export type ShownKey = Pick<
  AccountKey,
  | 'id'
  | 'label'
  | 'name'
  | 'status'
  | 'limit_reset'
  | 'expires_at'
  | 'models'
  | 'requests_per_minute'
  | 'tokens_per_minute'
  | 'last_used_at'
> & {
  readonly nano: Pick<AccountKey['nano'], 'limit' | 'limit_remaining'> & {
    /** The charges that count against the key's limit, or all charges if it has no limit. Null if unknown. */
    readonly spent: string | null
  }
}

const MEANINGS: Readonly<Record<ShownKey['status'], Meaning>> = {
  active: 'good',
  disabled: 'busy',
  expired: 'off',
  revoked: 'off',
}

/** The words for the present period of a spend limit, by its reset. */
export const PERIODS = { daily: 'today', weekly: 'this week', monthly: 'this month' } as const

/**
 * Lists keys, each with its limit and the amount that it can spend. The amount that a key can spend is the smaller of
 * two amounts: the unused part of the limit, and the account's credits. Without `forms` there are no actions.
 */
export function keyTable({
  keys,
  availableNano,
  forms,
  caption,
  empty,
}: {
  keys: readonly ShownKey[]
  availableNano: string
  forms: KeyForms | undefined
  caption: string
  empty: string
}): TemplateResult {
  const columns: Column<ShownKey>[] = [
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
      cell: ({ status, nano }) =>
        status === 'active' ? credits(least(nano.limit_remaining, availableNano)) : '–',
    },
    { name: 'A minute', from: 'wide', cell: showMinute },
    { name: 'Last used', from: 'wide', cell: ({ last_used_at: at }) => moment(at) },
  ]
  if (forms !== undefined) columns.push({ name: 'Actions', cell: (key) => showActions(forms, key) })
  return table({ caption, columns, rows: keys, key: ({ id }) => id, empty })
}

/** Returns the smaller amount, but at least zero: an account may be in debt. */
function least(left: string | null, available: string): bigint {
  const [of, all] = [BigInt(left ?? available), BigInt(available)]
  const smaller = of < all ? of : all
  return smaller < 0n ? 0n : smaller
}

function showSpent({ nano, limit_reset: reset }: ShownKey): TemplateResult {
  if (nano.limit !== null && nano.spent !== null) {
    return html`${credits(nano.spent)} of ${credits(nano.limit)} ${reset === null ? 'in all' : PERIODS[reset]}`
  }
  return nano.spent === null
    ? html`<span class="dim">no limit</span>`
    : html`${credits(nano.spent)} <span class="dim">in all, no limit</span>`
}

function showMinute({ requests_per_minute: requests, tokens_per_minute: tokens }: ShownKey): string {
  const parts = [
    requests === null ? undefined : `${short(requests)} requests`,
    tokens === null ? undefined : `${short(tokens)} tokens`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? '–' : parts.join(', ')
}

function showActions(forms: KeyForms, key: ShownKey): TemplateResult {
  const { status } = key
  if (status === 'revoked') return html`<span class="dim">–</span>`
  const button = (text: string, open: (key: ShownKey) => void, style = '') =>
    html`<button
      type="button"
      class="quiet ${style}"
      aria-label="${text} ${key.name ?? key.label}"
      @click=${() => open(key)}
    >
      ${text}
    </button>`
  return html`<span class="actions">
    ${button('change', forms.change)}${button('rotate', forms.rotate)}
    ${status === 'expired' ? nothing : button(status === 'disabled' ? 'enable' : 'disable', forms.turn)}
    ${button(forms.revokeVerb, forms.revoke, 'danger')}
  </span>`
}
