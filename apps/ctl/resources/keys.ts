import { z } from 'zod'
import { parseCredits } from '#libs/money/nano-credits.ts'
import { pathOf } from '../admin.ts'
import { toCredits, toTime } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { REASON, argument, readRequiredText, readText, text, toNumber } from '../fields.ts'
import { formatFields, type Column } from '../table.ts'
import { ACCOUNT } from './accounts.ts'

const Key = z.object({
  id: z.string(),
  accountId: z.string(),
  name: z.string().nullable(),
  prefix: z.string(),
  last4: z.string(),
  status: z.string(),
  expiresAt: z.string().nullable(),
  models: z.array(z.string()).nullable(),
  spendLimit: z.object({ amountNano: z.string(), period: z.string() }).nullable(),
  requestsPerMinute: z.number().nullable(),
  tokensPerMinute: z.number().nullable(),
  spending: z
    .object({
      periodStart: z.string().nullable(),
      spentNano: z.string(),
      heldNano: z.string(),
      leftNano: z.string(),
    })
    .nullable(),
  lastUsedAt: z.string().nullable(),
  rotatedFrom: z.string().nullable(),
  createdAt: z.string(),
  revokedAt: z.string().nullable(),
})
type Key = z.infer<typeof Key>

const NewKey = Key.extend({ secret: z.string() })

const KEY = argument('KEY', 'id of the key')

const LIMITS = {
  name: readText(
    { value: 'NAME', help: 'what it is for' },
    orNone((name) => name),
  ),
  expiresAt: readText(
    { value: 'TIME', help: 'such as 2030-01-01T00:00:00Z' },
    orNone((time) => time),
  ),
  models: readText(
    { value: 'MODELS', help: 'the only ones it may use, separated by commas' },
    orNone(toModels),
  ),
  spendLimit: readText(
    { value: 'CREDITS/PERIOD', help: 'such as 25/month: of day, week, month (of UTC) and total' },
    orNone(toSpendLimit),
  ),
  requestsPerMinute: readText({ value: 'NUMBER', help: 'at most so many' }, orNone(toNumber)),
  tokensPerMinute: readText({ value: 'NUMBER', help: 'at most so many' }, orNone(toNumber)),
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
  summary: 'Lists keys, the newest first; never their secrets.',
  fields: {
    account: text('ACCOUNT', 'id of the account'),
    prefix: text('TEXT', 'what the secret begins with, at most 12 characters'),
    last4: text('TEXT', 'the last four characters of the secret'),
  },
  examples: ['keys list --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11', 'keys list --last4 x7Qz'],
  path: '/keys',
  item: Key,
  columns: COLUMNS,
})

const create = defineCall({
  name: 'keys create',
  summary: 'Makes a key and shows its secret, once.',
  fields: z.strictObject({ account: ACCOUNT, ...LIMITS }),
  examples: [
    'keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --name production',
    'keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --spend-limit 25/month --models demo-chat,demo-embed',
  ],
  request: ({ account, ...body }) => ({ method: 'POST', path: pathOf`/accounts/${account}/keys`, body }),
  answer: NewKey,
  show: showNewKey,
})

const show = defineCall({
  name: 'keys show',
  summary: 'Shows a key and what it spent; never its secret.',
  fields: z.strictObject({ key: KEY }),
  examples: ['keys show 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'],
  request: ({ key }) => ({ method: 'GET', path: pathOf`/keys/${key}` }),
  answer: Key,
  show: showKey,
})

const change = defineCall({
  name: 'keys change',
  summary: 'Changes the name, the expiry and the limits of a key; none takes a limit away.',
  fields: z.strictObject({ key: KEY, ...LIMITS }),
  examples: ['keys change 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --spend-limit 50/month --expires-at none'],
  request: ({ key, ...body }) => ({ method: 'PATCH', path: pathOf`/keys/${key}`, body }),
  answer: Key,
  show: showKey,
})

const rotate = defineCall({
  name: 'keys rotate',
  summary: 'Makes a successor and shows its secret, once; the old secret works on for a while.',
  fields: z.strictObject({
    key: KEY,
    overlapSeconds: readRequiredText(
      { value: 'SECONDS', help: 'how long the old secret works on' },
      toNumber,
    ),
    reason: REASON,
  }),
  examples: ['keys rotate 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --overlap-seconds 86400'],
  request: ({ key, ...body }) => ({ method: 'POST', path: pathOf`/keys/${key}/rotate`, body }),
  answer: NewKey,
  show: showNewKey,
})

const disable = defineKeyState('disable', 'Stops a key until it is enabled again.')
const enable = defineKeyState('enable', 'Lets a disabled key work again.')
const revoke = defineKeyState(
  'revoke',
  'Stops a key for good: at once for spending, within moments everywhere.',
)

export const KEY_COMMANDS = [list, create, show, change, rotate, disable, enable, revoke] as const

function defineKeyState(verb: 'disable' | 'enable' | 'revoke', summary: string) {
  return defineCall({
    name: `keys ${verb}`,
    summary,
    fields: z.strictObject({ key: KEY, reason: REASON }),
    examples: [`keys ${verb} 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --reason "ticket 4711"`],
    request: ({ key, ...body }) => ({ method: 'POST', path: `${pathOf`/keys/${key}`}/${verb}`, body }),
    answer: Key,
    show: showKey,
  })
}

/** `none` takes a limit away. */
function orNone<Value>(read: (text: string) => Value): (text: string) => Value | null {
  return (given) => (given === 'none' ? null : read(given))
}

function toModels(given: string): string[] {
  return given.split(',').map((model) => model.trim())
}

function toSpendLimit(given: string): { amountNano: string; period: string } {
  const [credits = '', period] = given.split('/')
  if (period === undefined) throw new RangeError(`${JSON.stringify(given)} has no period, as 25/month has`)
  return { amountNano: parseCredits(credits).toString(), period }
}

function showNewKey({ secret, ...key }: z.infer<typeof NewKey>): string {
  return `${showKey(key)}\n${secret}\nThis is its secret. It is shown only here.\n`
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
    ['rotated from', key.rotatedFrom],
    ['created', toTime(key.createdAt)],
    ['revoked', toTime(key.revokedAt)],
  ])
}

/** Enough of a secret to recognize it. */
function toHint({ prefix, last4 }: Key): string {
  return `${prefix}…${last4}`
}

function toModelsText({ models }: Key): string | null {
  return models?.join(', ') ?? null
}

function toSpendLimitText({ spendLimit }: Key): string | null {
  return spendLimit === null ? null : `${toCredits(spendLimit.amountNano)}/${spendLimit.period}`
}
