import { parseCredits } from '#libs/money/nano-credits.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { AnswerOf } from '#libs/admin-contract/operation.ts'
import type { Key } from '#libs/admin-contract/resources/keys.ts'
import { toCredits, toTime } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { REASON, argument, readRequiredText, readText, text, toNumber } from '../fields.ts'
import { formatFields, type Column } from '../table.ts'
import { ACCOUNT } from './accounts.ts'

const KEY = argument('KEY', 'id of the key')

const LIMITS = {
  name: readText(
    { value: 'NAME', help: 'the purpose of the key' },
    orNone((name) => name),
  ),
  expiresAt: readText(
    { value: 'TIME', help: 'such as 2030-01-01T00:00:00Z' },
    orNone((time) => time),
  ),
  models: readText(
    { value: 'MODELS', help: 'the only models that it may use, separated by commas' },
    orNone(toModels),
  ),
  spendLimit: readText(
    { value: 'CREDITS/PERIOD', help: 'such as 25/month; the period is day, week, month (in UTC) or total' },
    orNone(toSpendLimit),
  ),
  requestsPerMinute: readText({ value: 'NUMBER', help: 'the most in a minute' }, orNone(toNumber)),
  tokensPerMinute: readText({ value: 'NUMBER', help: 'the most in a minute' }, orNone(toNumber)),
  reason: REASON,
}

const COLUMNS: readonly Column<Key>[] = [
  { title: 'key', cell: ({ id }) => id },
  { title: 'name', cell: ({ name }) => name },
  { title: 'secret', cell: toHint },
  { title: 'status', cell: ({ status }) => status },
  { title: 'spend limit', cell: toSpendLimitText, align: 'right' },
  { title: 'left', cell: ({ spending }) => toCredits(spending?.leftNano ?? null), align: 'right' },
  { title: 'requests/min', cell: (key) => key.requestsPerMinute, align: 'right' },
  { title: 'tokens/min', cell: (key) => key.tokensPerMinute, align: 'right' },
  { title: 'models', cell: toModelsText },
  { title: 'expires', cell: ({ expiresAt }) => toTime(expiresAt) },
  { title: 'last used', cell: ({ lastUsedAt }) => toTime(lastUsedAt) },
]

const list = defineList({
  name: 'keys list',
  operation: ADMIN.listKeys,
  fields: {
    account: text('ACCOUNT', 'id of the account'),
    prefix: text('TEXT', 'the start of the secret, at most 12 characters'),
    last4: text('TEXT', 'the last four characters of the secret'),
  },
  examples: ['keys list --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11', 'keys list --last4 x7Qz'],
  columns: COLUMNS,
})

const create = defineCall({
  name: 'keys create',
  operation: ADMIN.createKey,
  fields: { account: ACCOUNT, ...LIMITS },
  examples: [
    'keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --name production',
    'keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --spend-limit 25/month --models demo-chat,demo-embed',
  ],
  show: showNewKey,
})

const show = defineCall({
  name: 'keys show',
  operation: ADMIN.readKey,
  fields: { key: KEY },
  examples: ['keys show 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'],
  show: showKey,
})

const change = defineCall({
  name: 'keys change',
  operation: ADMIN.changeKey,
  summary: 'Changes the name, the expiry and the limits of a key; none removes a limit.',
  fields: { key: KEY, ...LIMITS },
  examples: ['keys change 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --spend-limit 50/month --expires-at none'],
  show: showKey,
})

const rotate = defineCall({
  name: 'keys rotate',
  operation: ADMIN.rotateKey,
  summary: 'Creates a successor and shows its secret, once; the old secret stays valid for a while.',
  fields: {
    key: KEY,
    overlapSeconds: readRequiredText(
      { value: 'SECONDS', help: 'how long the old secret stays valid' },
      toNumber,
    ),
    reason: REASON,
  },
  examples: ['keys rotate 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --overlap-seconds 86400'],
  show: showNewKey,
})

const disable = defineKeyState('disable', ADMIN.disableKey)
const enable = defineKeyState('enable', ADMIN.enableKey)
const revoke = defineKeyState('revoke', ADMIN.revokeKey)

export const KEY_COMMANDS = [list, create, show, change, rotate, disable, enable, revoke] as const

function defineKeyState(
  verb: string,
  operation: typeof ADMIN.disableKey | typeof ADMIN.enableKey | typeof ADMIN.revokeKey,
) {
  return defineCall({
    name: `keys ${verb}`,
    operation,
    fields: { key: KEY, reason: REASON },
    examples: [`keys ${verb} 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --reason "ticket 4711"`],
    show: showKey,
  })
}

/** Reads `none`, which removes a limit, as null. */
function orNone<Value>(read: (text: string) => Value): (text: string) => Value | null {
  return (given) => (given === 'none' ? null : read(given))
}

function toModels(given: string): string[] {
  return given.split(',').map((model) => model.trim())
}

function toSpendLimit(given: string): { amountNano: string; period: string } {
  const [credits = '', period] = given.split('/')
  if (period === undefined)
    throw new RangeError(`${JSON.stringify(given)} has no period: expected an amount such as 25/month`)
  return { amountNano: parseCredits(credits).toString(), period }
}

function showNewKey({ secret, ...key }: AnswerOf<typeof ADMIN.createKey>): string {
  return `${showKey(key)}\n${secret}\nThis is its secret. It is shown only once.\n`
}

function showKey(key: Key): string {
  const { spending } = key
  return formatFields([
    ['key', key.id],
    ['account', key.accountId],
    ['name', key.name],
    ['secret', toHint(key)],
    ['status', key.status],
    ['models', toModelsText(key) ?? 'all'],
    ['spend limit', toSpendLimitText(key)],
    ['spent', toCredits(spending?.spentNano ?? null)],
    ['held', toCredits(spending?.heldNano ?? null)],
    ['left', toCredits(spending?.leftNano ?? null)],
    ['period began', toTime(spending?.periodStart ?? null)],
    ['requests a minute', key.requestsPerMinute],
    ['tokens a minute', key.tokensPerMinute],
    ['expires', toTime(key.expiresAt)],
    ['last used', toTime(key.lastUsedAt)],
    ['set by operators', key.setByOperator.join(', ') || null],
    ['rotated from', key.rotatedFrom],
    ['created', toTime(key.createdAt)],
    ['revoked', toTime(key.revokedAt)],
  ])
}

/** Returns the first and last characters of a secret, enough to recognize it. */
function toHint({ prefix, last4 }: Key): string {
  return `${prefix}…${last4}`
}

function toModelsText({ models }: Key): string | null {
  return models?.join(', ') ?? null
}

function toSpendLimitText({ spendLimit }: Key): string | null {
  return spendLimit === null ? null : `${toCredits(spendLimit.amountNano)}/${spendLimit.period}`
}
