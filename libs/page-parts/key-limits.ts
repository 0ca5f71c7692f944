import type { AccountKey, KeyChange } from '#libs/account-contract/resources/keys.ts'
import { formatCredits } from '#libs/money/nano-credits.ts'
import { Failure } from './failure.ts'

/** The texts in the fields of a form, with the names of the accounts' interface. */
export type LimitTexts = Readonly<
  Record<
    'name' | 'limit' | 'limit_reset' | 'requests_per_minute' | 'tokens_per_minute' | 'models' | 'expires_at',
    string
  >
>

/** The present limits of a key. */
type LimitedKey = Pick<
  AccountKey,
  'name' | 'limit_reset' | 'requests_per_minute' | 'tokens_per_minute' | 'models' | 'expires_at'
> & { readonly nano: Pick<AccountKey['nano'], 'limit'> }

/** Returns the texts for a key's present limits. For a new key all texts are empty except the period. */
export function toTexts(key?: LimitedKey): LimitTexts {
  const limit = key?.nano.limit ?? null
  return {
    name: key?.name ?? '',
    limit: limit === null ? '' : formatCredits(BigInt(limit)),
    limit_reset: limit === null ? 'monthly' : (key?.limit_reset ?? 'never'),
    requests_per_minute: key?.requests_per_minute?.toString() ?? '',
    tokens_per_minute: key?.tokens_per_minute?.toString() ?? '',
    models: key?.models?.join(', ') ?? '',
    expires_at: key?.expires_at?.slice(0, 10) ?? '',
  }
}

/**
 * Returns the fields that differ from `before`, in the form of the accounts' interface; an empty text becomes null.
 * Unchanged fields are left out, so that the request does not overwrite a change that somebody else makes meanwhile. If
 * a text must be a number and is not, throws a Failure that names its field.
 */
export function toChange(texts: LimitTexts, before: LimitTexts): KeyChange {
  const change: KeyChange = {}
  const isNew = (name: keyof LimitTexts) => texts[name] !== before[name]
  if (isNew('name')) change.name = texts.name === '' ? null : texts.name
  if (isNew('limit')) {
    change.limit = texts.limit === '' ? null : toNumber('limit', texts.limit, /^\d{1,10}(?:\.\d{1,9})?$/)
  }
  // A key without a limit has no period.
  if (texts.limit !== '' && (isNew('limit_reset') || before.limit === '')) {
    change.limit_reset = toReset(texts.limit_reset)
  }
  for (const name of ['requests_per_minute', 'tokens_per_minute'] as const) {
    if (isNew(name)) change[name] = texts[name] === '' ? null : toNumber(name, texts[name], /^\d{1,10}$/)
  }
  if (isNew('models')) {
    const ids = texts.models.split(/[\s,]+/).filter((id) => id !== '')
    change.models = ids.length === 0 ? null : ids
  }
  if (isNew('expires_at'))
    change.expires_at = texts.expires_at === '' ? null : `${texts.expires_at}T00:00:00Z`
  return change
}

/** Parses a number. NaN would become null in JSON, and null removes a limit. */
function toNumber(param: keyof LimitTexts, text: string, pattern: RegExp): number {
  if (pattern.test(text)) return Number(text)
  const expected = param === 'limit' ? 'an amount such as 25 or 0.5' : 'a whole number such as 600'
  throw new Failure(0, { code: 'invalid_request', message: `“${text}” is not ${expected}.`, param })
}

/** Reads the choice of a form, in which `never` stands for null. */
export function toReset(text: string): 'daily' | 'weekly' | 'monthly' | null {
  return text === 'daily' || text === 'weekly' || text === 'monthly' ? text : null
}
